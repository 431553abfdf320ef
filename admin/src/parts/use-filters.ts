import { useCallback, useEffect, useState } from 'react';
import { useSearchParams } from 'wouter';

/** Milliseconds without a key press after which a text becomes a filter. */
const TYPING = 300;

/** The filters of a view, which its address has, so that links and the back button keep them. */
export function useFilters(): [Readonly<URLSearchParams>, (name: string, value: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = useCallback(
    (name: string, value: string) =>
      setParams(
        (before) => {
          const after = new URLSearchParams(before);
          if (value) after.set(name, value);
          else after.delete(name);
          return after;
        },
        { replace: true },
      ),
    [setParams],
  );
  return [params, set];
}

/** A filter that is typed: what the field shows, which becomes the filter after a pause. */
export function useTyped(applied: string, apply: (value: string) => void): [string, (text: string) => void] {
  const [text, setText] = useState(applied);
  const [before, setBefore] = useState(applied);
  if (before !== applied) {
    setBefore(applied); // by the back button, or by this field
    if (text.trim() !== applied) setText(applied);
  }
  useEffect(() => {
    if (text.trim() === applied) return undefined;
    const timer = setTimeout(() => apply(text.trim()), TYPING);
    return () => clearTimeout(timer);
  }, [text, applied, apply]);
  return [text, setText];
}
