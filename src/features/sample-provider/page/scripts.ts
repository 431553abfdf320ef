/** Form of the login page. It has no `autofocus`, which Chromium blocks in a frame of another site. */
export const formScript = `
(() => {
  const form = document.querySelector('form');
  if (!form) return;

  const login = document.getElementById('login');
  const password = document.getElementById('password');
  const first = login.value ? password : login;
  const focus = () => document.activeElement === document.body && first.focus();
  focus();
  // The page around a frame moves the focus into this page, but to no field.
  if (parent !== window) addEventListener('focus', focus, { once: true });

  const show = document.getElementById('show');
  const reveal = (on) => {
    password.type = on ? 'text' : 'password';
    show.setAttribute('aria-pressed', on);
  };
  show.hidden = false;
  show.addEventListener('click', () => reveal(password.type === 'password'));

  const main = document.getElementById('submit');
  const text = main.textContent;
  let sent = false;
  const mark = (on) => {
    sent = on;
    form.ariaBusy = on;
    main.textContent = on ? 'Signing in…' : text;
    for (const button of form.querySelectorAll('button')) button.disabled = on;
  };
  form.addEventListener('submit', (event) => {
    if (sent) return event.preventDefault();
    sent = true;
    reveal(false); // or else the browser would offer the password as a text that it has seen
    setTimeout(mark, 0, true); // a button that is disabled now would be missing in what is sent
    setTimeout(mark, 10000, false); // loading may have been stopped
  });
  addEventListener('pageshow', ({ persisted }) => persisted && mark(false));
})();
`;

/** Reports Escape and the height of the content to the page around the frame (docs/frontend.md). */
export const frameScript = `
(() => {
  const asked = new URLSearchParams(location.search).get('redirect_uri') ?? '';
  if (parent === window || !/^https?:/.test(asked) || !URL.canParse(asked)) return;
  const notify = (message) => parent.postMessage(message, new URL(asked).origin);
  addEventListener('keydown', ({ key, isComposing }) => {
    if (key === 'Escape' && !isComposing) notify({ type: 'latchkey:escape' });
  });

  // The page itself is at least as high as the frame.
  const main = document.querySelector('main');
  const observer = new ResizeObserver(() => {
    const bottom = Math.max(...[...main.children].map((part) => part.getBoundingClientRect().bottom));
    const space = parseFloat(getComputedStyle(main).paddingBottom) + 2 * parseFloat(getComputedStyle(document.body).paddingTop);
    notify({ type: 'latchkey:height', height: Math.ceil(bottom - main.getBoundingClientRect().top + space + 2) });
  });
  for (const part of [main, ...main.children]) observer.observe(part);
})();
`;
