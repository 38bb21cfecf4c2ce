"""The style of a report: two color schemes and one column."""

STYLE = """\
:root{color-scheme:light dark;
--page:#f7f7f5;--sheet:#fff;--ink:#1b1e23;--soft:#565e69;--line:#e2e3e0;--fill:#eeeeeb;
--accent:#2a56c6;--grows:#17683c;--shrinks:#a8281f;--holds:#7a4b00;
--pod:#9db4dd;--daemon:#cfd3d9;--fresh:#58b184;--free:#f6f6f4;--edge:#c3c8ce;
--grows-fill:#e3f3e9;--shrinks-fill:#fbe7e4;--holds-fill:#f8edd6}
@media (prefers-color-scheme:dark){:root{
--page:#0f1113;--sheet:#16191c;--ink:#e7e9ec;--soft:#a0a9b4;--line:#2a2f35;--fill:#20252a;
--accent:#93b2ff;--grows:#67cf97;--shrinks:#ff9a8f;--holds:#e5b95f;
--pod:#4d6ba8;--daemon:#434a53;--fresh:#2f9463;--free:#1c2024;--edge:#454c55;
--grows-fill:#14301f;--shrinks-fill:#391a17;--holds-fill:#33270f}}
*{box-sizing:border-box}
html{scroll-padding-top:6.4rem}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",sans-serif;
font-variant-numeric:tabular-nums;overflow-wrap:break-word}
a{color:var(--accent);text-underline-offset:.15em}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
.skip{position:absolute;left:-999rem}
.skip:focus{left:1rem;top:.5rem;z-index:9;background:var(--sheet);padding:.4rem .8rem}
.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
header,main,footer{max-width:76rem;margin:0 auto;padding:0 1.5rem}
header{padding-top:2.5rem}
h1{margin:0;font-size:.85rem;font-weight:600;letter-spacing:.02em;color:var(--soft)}
.lead{margin:.35rem 0 .6rem;font-size:1.6rem;line-height:1.3;font-weight:640;letter-spacing:-.012em;text-wrap:balance}
.facts{display:flex;flex-wrap:wrap;gap:.1rem 1.4rem;margin:0;color:var(--soft);font-size:.87rem}
.facts div{display:flex;gap:.4rem}
.facts dt::after{content:""}
.facts dd{margin:0;min-width:0;overflow-wrap:anywhere;color:var(--ink)}
#live{display:flex;flex-wrap:wrap;gap:.3rem 1rem;align-items:center;margin:.7rem 0 0;font-size:.87rem;color:var(--soft)}
button{font:inherit;color:var(--ink);background:var(--sheet);border:1px solid #868d96;border-radius:6px;padding:.28rem .7rem;
cursor:pointer}
button[hidden]{display:none}
button[aria-pressed=true]{background:var(--holds-fill);border-color:var(--holds)}
.warn{margin:1.2rem 0 0;padding:.55rem .85rem;border-left:3px solid var(--holds);background:var(--holds-fill);font-size:.9rem}
.line{display:block}
#attention{margin:.8rem 0 0}#attention h2{margin:0 0 .35rem;font-size:.95rem}
#attention>ul{margin:0;padding:0;list-style:none;border:1px solid var(--line);border-radius:8px;background:var(--sheet);
overflow:hidden}
#attention li{padding:.45rem .85rem;font-size:.9rem;line-height:1.4;overflow-wrap:anywhere}
#attention li+li{border-top:1px solid var(--line)}
#attention li ul{margin:.3rem 0 0;padding:0;list-style:none}#attention li p{margin:0}
#attention .danger,#attention .hold-on{border-left:4px solid var(--shrinks)}#attention .hold-on{border-left-color:var(--holds)}
#attention .why{min-width:0;color:var(--soft)}.calm{color:var(--grows)}
time{white-space:nowrap;text-decoration:underline dotted;text-underline-offset:.2em}
.spark{width:100%;height:2.1rem;margin:.35rem 0 .1rem}
.figures+.facts{margin-top:.7rem}
.spark path{fill:none;stroke:var(--edge);stroke-width:1;vector-effect:non-scaling-stroke}
.spark .line-a{stroke:var(--accent);stroke-width:1.5}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.4rem,1fr));margin:1.6rem 0 0;border:1px solid var(--line);
border-radius:8px;background:var(--sheet);gap:1px;overflow:hidden}
.figures div{box-shadow:0 0 0 1px var(--line);padding:.8rem 1rem;display:flex;flex-direction:column}
.figures dt{font-size:.8rem;color:var(--soft)}
.figures dd{margin:.1rem 0 0;font-size:1.3rem;font-weight:620;letter-spacing:-.01em;line-height:1.35}
.figures dd.note{margin:0;font-size:.8rem;font-weight:400;letter-spacing:0;color:var(--soft)}
.tools{position:sticky;top:0;z-index:5;margin-top:1.6rem;background:var(--page);border-bottom:1px solid var(--line)}
.tools>div{max-width:76rem;margin:0 auto;padding:.55rem 1.5rem;display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center}
nav{display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;margin-right:auto;font-size:.87rem}
nav a{color:var(--ink);text-decoration:none;padding:.25rem 0}
nav a:hover{color:var(--accent);text-decoration:underline}
form{display:flex;flex-wrap:wrap;gap:.4rem .8rem;align-items:center;font-size:.87rem}
form[hidden]{display:none}
input[type=search],select{font:inherit;color:inherit;background:var(--sheet);border:1px solid #868d96;border-radius:6px;
padding:.28rem .55rem;max-width:12rem}
input[type=search]{width:13rem;max-width:100%}
form label{display:inline-flex;gap:.35rem;align-items:center}
#found{min-width:5.5rem;color:var(--soft)}
section{margin:2.6rem 0 0}
h2{display:flex;flex-wrap:wrap;
align-items:baseline;gap:.6rem;margin:0 0 .7rem;font-size:1.12rem;font-weight:640;letter-spacing:-.008em}
h2 .n{font-size:.85rem;font-weight:400;color:var(--soft)}
h3{margin:1.3rem 0 .45rem;font-size:.92rem;font-weight:620}
h3 .n{font-weight:400;color:var(--soft)}
p{margin:.4rem 0}
.soft{color:var(--soft)}
.small{font-size:.85rem}
.sheet{background:var(--sheet);border:1px solid var(--line);border-radius:8px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{padding:.5rem .75rem;text-align:left;vertical-align:top;border-top:1px solid var(--line)}
thead th{border-top:0;font-size:.78rem;font-weight:500;color:var(--soft);white-space:nowrap;vertical-align:bottom}
tbody th{font-weight:600}
.few thead th{white-space:normal;overflow-wrap:anywhere;min-width:5rem}
.r{text-align:right;white-space:nowrap}.at{white-space:nowrap}
.name{min-width:11rem;overflow-wrap:anywhere}
th .small{font-weight:400}
.pods{min-width:13rem}
.why{min-width:17rem;overflow-wrap:anywhere}.fate{min-width:12rem;overflow-wrap:anywhere}
td ul{margin:0;padding:0;list-style:none}
td li+li{margin-top:.2rem}
.m{display:inline-block;width:1em;font-weight:700;text-align:center}
.moves>* .m,b.moves{color:var(--accent)}.bad>* .m,b.bad{color:var(--shrinks)}.held>* .m,.hold{color:var(--holds)}
b.moves,b.bad{font-weight:640}
.list{margin:0;padding:.25rem 0;list-style:none}
.list>li{display:grid;grid-template-columns:1.3rem minmax(0,1fr);overflow-wrap:anywhere;
gap:.35rem;padding:.4rem .95rem;font-size:.92rem}
.list>li+li{border-top:1px solid var(--line)}
.list .m{width:auto}
details{border-top:1px solid var(--line)}
details:first-child{border-top:0}
summary{display:flex;gap:.3rem .8rem;flex-wrap:wrap;align-items:baseline;cursor:pointer;padding:.55rem .95rem;
font-size:.92rem;list-style:none}
summary::-webkit-details-marker{display:none}
summary::before{content:"";flex:none;width:.38rem;height:.38rem;border:solid var(--soft);border-width:0 1.5px 1.5px 0;
transform:translateY(-.12rem) rotate(-45deg)}
details[open]>summary::before{transform:translateY(-.22rem) rotate(45deg)}
summary:hover{background:var(--fill)}
summary .end{margin-left:auto;color:var(--soft)}
details>div{padding:.1rem .95rem .85rem 2.15rem;font-size:.9rem}
details ul{margin:.2rem 0 .5rem;padding-left:1.1rem}
.more{border-top:0}.list .more>summary{padding:0;display:block}
.more>summary{flex-wrap:nowrap}.list .more>summary::before{display:inline-block;margin-right:.6rem}
.more .list,.more .sheet{border:0}
.names{color:var(--soft);font-size:.84rem}
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:1rem}
.picture{padding:1rem 1.1rem 1.15rem}
.picture>h3{margin:0;display:flex;gap:.6rem;align-items:baseline;flex-wrap:wrap}
h4{margin:1rem 0 .4rem;font-size:.82rem;font-weight:500;color:var(--soft)}
h4 b{color:var(--ink);font-weight:600}
.tiles{display:flex;flex-wrap:wrap;gap:6px;margin:0;padding:0;list-style:none}
.tile{display:block;border-radius:4px;line-height:0}
svg{display:block}
.tile rect,.tile path{shape-rendering:crispEdges}
.box{fill:var(--free);stroke:var(--edge)}
.p{fill:var(--pod)}.d{fill:var(--daemon)}.f{fill:var(--fresh)}
.joins .box{stroke:var(--grows);stroke-width:1.5}
.leaves .box{stroke:var(--shrinks);stroke-width:1.5;stroke-dasharray:4 3}
.key{display:flex;flex-wrap:wrap;gap:.3rem 1.3rem;margin:0 0 .8rem;padding:0;list-style:none;font-size:.84rem;color:var(--soft)}
.key li{display:flex;gap:.4rem;align-items:center}
.axis{stroke:var(--line);stroke-width:2;stroke-linecap:round}.reach{stroke:var(--soft);stroke-width:2;stroke-linecap:round}
.was{fill:var(--sheet);stroke:var(--soft);stroke-width:1.5}.will{fill:var(--accent)}.rest{fill:none;stroke:var(--accent);
stroke-width:1.5}
.chart{margin:0;padding:.7rem .9rem .8rem;min-width:0}.chart figcaption{margin:0 0 .3rem;font-size:.92rem;font-weight:620;
overflow-wrap:anywhere}
.chart>svg{width:100%;height:auto}.chart text{font-size:22px;fill:var(--soft)}
.chart .key{margin:.4rem 0 0;gap:.1rem 1rem}.chart .key li{min-width:0;overflow-wrap:anywhere}.chart .key svg{flex:none}
.chart text.number{fill:var(--ink);font-weight:700}.chart .grid{stroke:var(--edge);stroke-width:1.5;fill:none}
.flow path{opacity:.6}.flow g:hover path{opacity:1}
.layer{stroke:var(--sheet);stroke-width:1}
.line-a,.line-b{fill:none;stroke:var(--ink);stroke-width:3}.line-b{stroke:var(--accent);stroke-dasharray:12 7}
.shade{fill:var(--holds);opacity:.22}.waits{fill:var(--holds)}.evicts{fill:var(--shrinks)}
tr:target,li:target{background:var(--holds-fill)}
.gone{display:none!important}
pre{margin:0;padding:.7rem .95rem;font:.84rem/1.5 ui-monospace,"Cascadia Mono","DejaVu Sans Mono",monospace}
td pre,.wrap{white-space:pre-wrap;overflow-wrap:anywhere}td pre{padding:.4rem 0 0}
.add{color:var(--accent)}.del{color:var(--shrinks)}
pre+pre{border-top:1px solid var(--line)}
footer{margin-top:3rem;padding-bottom:3rem;color:var(--soft);font-size:.82rem}
footer p{margin:.2rem 0}
@media (max-width:68rem){.stack,.stack tbody{display:block}
.stack thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.stack tr{display:flex;flex-wrap:wrap;gap:.35rem 1.5rem;padding:.7rem .95rem}
.stack tr+tr{border-top:1px solid var(--line)}
.stack tr>*{display:block;min-width:0;max-width:100%;padding:0;border:0;text-align:left}
.stack .name,.stack .pods,.stack .why{flex:1 0 100%}
.stack td:empty{display:none}
.stack td::before{content:attr(data-as);content:attr(data-as) / "";display:block;font-size:.78rem;line-height:1.4;
color:var(--soft)}}
@media (max-width:40rem){header,main,footer,.tools>div{padding-left:1rem;padding-right:1rem}header{padding-top:1.5rem}
.lead{font-size:1.25rem}section{margin-top:1.7rem}footer{margin-top:1.5rem;padding-bottom:1rem}.figures{grid-template-columns:repeat(2,minmax(0,1fr))}
.figures div:last-child:nth-child(odd){grid-column:1/-1}
.tools{position:static}html{scroll-padding-top:0}th,td{padding:.45rem .55rem}
.few,.few thead,.few tbody{display:block}
.few tr{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:.1rem .8rem;padding:.45rem .55rem}
.few tbody tr{border-top:1px solid var(--line)}
.few tr>*,.few thead th{min-width:0;padding:0;border:0;text-align:left;white-space:normal;overflow-wrap:anywhere}
.few th:first-child{grid-column:1/-1}}
@media (forced-colors:active){.p,.d,.f{stroke:CanvasText;forced-color-adjust:none}}
@media print{.tools{display:none}.sheet{border:0}}
"""
