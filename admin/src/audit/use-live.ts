import { useEffect, useRef, useState } from 'react';
import { call } from '../api/api.js';
import type { AuditEvent, Page } from '../api/types.js';

/** Milliseconds between two questions; after a failure more. */
const PAUSE = 3000;
const PAUSE_AFTER_FAILURE = 10_000;
/** Milliseconds by which each question overlaps the last: a transaction may commit an event that is older than the newest. */
const OVERLAP = 30_000;
const LIMIT = 200;
/** Newest events that are kept. */
const MOST_EVENTS = 1000;

/**
 * Asks for events newer than the loaded ones while the page is visible. It polls: `GET /audit/stream` needs the right `read`, which
 * no role of a person grants (docs/endpoints.md#for-your-backend).
 * @param query filters of the events
 * @param loaded events of the list, newest first
 * @returns all, newest first
 */
export function useLive(
  query: string,
  loaded: readonly AuditEvent[],
  isOn: boolean,
): { events: readonly AuditEvent[]; isFailing: boolean } {
  const [fresh, setFresh] = useState<{ query: string; events: readonly AuditEvent[] }>({ query, events: [] });
  const [isFailing, setFailing] = useState(false);
  const events = merge(fresh.query === query ? fresh.events : [], loaded);
  const newest = useRef<string>(undefined);
  newest.current = events[0]?.at;

  useEffect(() => {
    if (!isOn) return undefined;
    let timer: ReturnType<typeof setTimeout>;
    let hasStopped = false;
    const ask = async (): Promise<void> => {
      let pause = PAUSE;
      try {
        if (!document.hidden) {
          const answer = await call<Page & { events: AuditEvent[] }>(pathOf(query, newest.current));
          if (hasStopped) return;
          setFresh((before) => ({
            query,
            events: merge(answer.events, before.query === query ? before.events : []).slice(0, MOST_EVENTS),
          }));
          setFailing(false);
        }
      } catch {
        if (hasStopped) return;
        setFailing(true);
        pause = PAUSE_AFTER_FAILURE;
      }
      timer = setTimeout(() => void ask(), pause);
    };
    timer = setTimeout(() => void ask(), PAUSE);
    return () => {
      hasStopped = true;
      clearTimeout(timer);
    };
  }, [query, isOn]);

  return { events, isFailing: isOn && isFailing };
}

function pathOf(query: string, newest: string | undefined): string {
  const params = new URLSearchParams(query);
  params.set('limit', String(LIMIT));
  const since = newest === undefined ? '' : new Date(Date.parse(newest) - OVERLAP).toISOString();
  if (since > (params.get('since') ?? '')) params.set('since', since);
  return `/admin/trail?${params}`;
}

/** Events of both, each once, newest first. */
function merge(some: readonly AuditEvent[], others: readonly AuditEvent[]): readonly AuditEvent[] {
  if (some.length === 0) return others;
  const all = new Map([...some, ...others].map((event) => [event.id, event]));
  return [...all.values()].toSorted((a, b) => (a.at < b.at ? 1 : -1));
}
