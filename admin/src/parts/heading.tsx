import { useEffect, useRef, type ReactNode } from 'react';

let isFirst = true;
let isBack = false;
addEventListener('popstate', () => (isBack = true)); // the browser restores the position

/** The heading of a view: sets the title of the page, and has the focus after a navigation. */
export function Heading({ title, children }: { title: string; children?: ReactNode }): ReactNode {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} – Latchkey administration`;
  }, [title]);
  useEffect(() => {
    if (!isFirst) heading.current!.focus({ preventScroll: true });
    if (!isFirst && !isBack) scrollTo(0, 0);
    isFirst = false;
    isBack = false;
  }, []);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children ?? title}
    </h1>
  );
}
