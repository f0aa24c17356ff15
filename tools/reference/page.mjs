// Adds to a page of the reference what needs a script: buttons of the code blocks, and the current section in the list of contents.
/* global document, IntersectionObserver, navigator, setTimeout, URLSearchParams */

/** The explorer, where the service has one. */
const explorer = document.querySelector('.site a[href$="/explorer"]');

function addButtons(block) {
  const bar = document.createElement('div');
  bar.className = 'code-buttons';
  const text = block.textContent.trimEnd();
  // The clipboard requires a secure context (Clipboard API §9.1).
  if (navigator.clipboard) bar.append(copyButton(text));
  if (explorer !== null && block.ariaLabel.startsWith('Example of ')) bar.append(explorerLink(block, text));
  if (bar.childElementCount > 0) block.before(bar);
}

function copyButton(text) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  return button;
}

/** The operation with its variables, if the next code block has them. The fragment of a URL is not sent to a server. */
function explorerLink(block, query) {
  const parameters = new URLSearchParams({ query });
  const next = block.nextElementSibling?.nextElementSibling;
  if (next?.ariaLabel?.startsWith('Variables')) parameters.set('variables', next.textContent.trimEnd());
  const link = document.createElement('a');
  link.href = `${explorer.href}#${parameters}`;
  link.textContent = 'Open in explorer';
  return link;
}

/** Marks the section that is at the top of the window. */
function followSections(links) {
  const visible = new Set();
  const observer = new IntersectionObserver(
    (changes) => {
      for (const { target, isIntersecting } of changes) {
        if (isIntersecting) visible.add(target.id);
        else visible.delete(target.id);
      }
      const current = [...links.keys()].find((id) => visible.has(id));
      if (current === undefined) return;
      for (const [id, link] of links) {
        if (id === current) link.setAttribute('aria-current', 'location');
        else link.removeAttribute('aria-current');
      }
      // Only the list scrolls, and not the page.
      const link = links.get(current);
      const list = link.closest('.contents');
      list.scrollTop = link.offsetTop - list.clientHeight / 2;
    },
    { rootMargin: '-20% 0% -60% 0%' },
  );
  for (const id of links.keys()) observer.observe(document.getElementById(id));
}

for (const block of document.querySelectorAll('pre')) addButtons(block);
const entries = [...document.querySelectorAll('.contents a')].map((link) => [link.hash.slice(1), link]);
if (entries.length > 0) followSections(new Map(entries));
