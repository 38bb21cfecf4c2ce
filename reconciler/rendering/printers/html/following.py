"""The script of a page that stays open: it asks for the page again and puts what is new into its place."""

SCRIPT = """\
(() => {
  const bar = document.getElementById('live');
  if (!bar) return;
  const pause = document.getElementById('pause'), trouble = document.getElementById('trouble');
  const news = document.getElementById('news'), period = Number(bar.dataset.period) * 1000;
  const parts = ['header', '.tools', 'main', 'footer'], kept = ['open', 'hidden', 'aria-pressed', 'data-stop'];
  const lead = (page) => page.querySelector('.lead')?.textContent ?? '';
  const key = (node) => node.nodeType === 1 ? node.id || node.dataset.key || '' : '';
  const alike = (one, other) => one.nodeName === other.nodeName && key(one) === key(other);
  const patch = (old, fresh) => {
    if (old.nodeType !== 1) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    if ('keep' in old.dataset) return;
    const gone = old.classList.contains('gone');
    for (const {name, value} of [...fresh.attributes])
      if (!kept.includes(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
    for (const {name} of [...old.attributes]) if (!kept.includes(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
    if (gone) old.classList.add('gone');
    const named = new Map([...old.childNodes].filter(key).map((child) => [child.nodeName + key(child), child]));
    let at = old.firstChild;
    for (const child of [...fresh.childNodes]) {
      const found = key(child) ? named.get(child.nodeName + key(child)) : at && alike(at, child) ? at : null;
      if (!found) {
        old.insertBefore(document.importNode(child, true), at);
        continue;
      }
      named.delete(child.nodeName + key(child));
      patch(found, child);
      if (found === at) at = at.nextSibling; else old.insertBefore(found, at);
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  };
  let paused = false, timer = 0, asked = false;
  const look = async () => {
    clearTimeout(timer);
    if (paused || document.hidden || asked) return;
    asked = true;
    try {
      const answer = await fetch(location.pathname, {cache: 'no-store', signal: AbortSignal.timeout(30000)});
      const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
      if (!fresh.getElementById('live')) throw new Error(`status ${answer.status}`);
      const before = lead(document);
      for (const part of parts) patch(document.querySelector(part), fresh.querySelector(part));
      document.title = fresh.title;
      if (lead(document) !== before) news.textContent = lead(document);
      trouble.textContent = '';
      document.dispatchEvent(new Event('patched'));
    } catch (error) {
      if (!paused) trouble.textContent = 'No answer: what is shown has not been updated since.';
    }
    asked = false;
    timer = setTimeout(look, period);
  };
  pause.hidden = false;
  pause.addEventListener('click', () => {
    paused = !paused;
    pause.setAttribute('aria-pressed', String(paused));
    look();
  });
  document.addEventListener('visibilitychange', look);
  timer = setTimeout(look, period);
})();
"""
