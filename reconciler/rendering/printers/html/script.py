"""The script of a report: search and filter. It is constant, and the page works without it."""

SCRIPT = """\
(() => {
  const form = document.getElementById('filter');
  if (!form) return;
  const search = document.getElementById('search'), group = document.getElementById('group');
  const moves = document.getElementById('moves'), found = document.getElementById('found');
  let items = [], blocks = [], folds = [];
  const gather = () => {
    items = [...document.querySelectorAll('[data-item]')].map((element) => ({
      element,
      text: [element.textContent, ...[...element.querySelectorAll('[aria-label]')].map((one) => one.ariaLabel)]
        .join(' ').toLowerCase(),
      groups: 'groups' in element.dataset ? element.dataset.groups.split(' ') : null,
      moves: 'moves' in element.dataset,
      counted: 'counted' in element.dataset,
      open: element.open,
    }));
    const holding = (element) => ({element, items: items.filter((item) => element.contains(item.element))});
    blocks = [...document.querySelectorAll('[data-block]')].map(holding);
    folds = [...document.querySelectorAll('[data-fold]')].map(holding);
  };
  const filtered = () => search.value.trim() !== '' || group.value !== '' || moves.checked;
  let timer = 0;
  const apply = () => {
    const words = search.value.trim().toLowerCase().split(/\\s+/).filter(Boolean);
    const wanted = filtered();
    let shown = 0;
    for (const item of items) {
      const fits = words.every((word) => item.text.includes(word)) &&
        (group.value === '' || (item.groups !== null && item.groups.includes(group.value))) && (!moves.checked || item.moves);
      item.fits = fits;
      item.element.classList.toggle('gone', !fits);
      if (item.element.tagName === 'DETAILS') item.element.open = words.length > 0 && fits ? true : item.open;
      if (fits && item.counted) shown += 1;
    }
    for (const block of blocks) block.element.classList.toggle('gone', wanted && !block.items.some((item) => item.fits));
    for (const fold of folds) fold.element.open = wanted && fold.items.some((item) => item.fits);
    clearTimeout(timer);
    timer = setTimeout(() => {
      found.textContent = !wanted ? '' : shown === 0 ? 'Nothing found' : shown === 1 ? '1 entry' : shown + ' entries';
    }, 150);
  };
  form.hidden = false;
  form.addEventListener('input', apply);
  form.addEventListener('submit', (event) => event.preventDefault());
  document.addEventListener('keydown', (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      search.focus();
    } else if (event.key === 'Escape' && document.activeElement === search) {
      search.value = '';
      apply();
    }
  });
  document.addEventListener('patched', () => {
    gather();
    if (filtered()) apply();
  });
  gather();
  apply();
})();
"""
