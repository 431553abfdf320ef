import { useEffect, useRef, useState, type ReactNode, type RefObject } from 'react';
import type { Hour } from '../api/types.js';
import { formatNumber, LOCALE } from '../parts/locale.js';
import { HourLinks } from './hour-links.js';
import { hourText } from './hour-text.js';

const HEIGHT = 240;
/** Pixels of a bar. */
const WIDEST = 28;
const [TOP, BOTTOM, START] = [12, 28, 44];
/** Pixels that a text below the bars needs. */
const ROOM = 52;
/** Lines above the lowest one, at most. */
const MOST_LINES = 5;

const hourOnly = new Intl.DateTimeFormat(LOCALE, { hour: 'numeric' });
const day = new Intl.DateTimeFormat(LOCALE, { weekday: 'short', day: 'numeric' });
const compact = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 });

/** Sign-ins and refusals per hour as stacked bars, which are links into the audit trail. */
export function Chart({ hours, isWeek }: { hours: readonly Hour[]; isWeek: boolean }): ReactNode {
  const [place, width] = useWidth();
  const [pointed, setPointed] = useState<number>();
  const most = Math.max(1, ...hours.map((hour) => (hour.sign_ins ?? 0) + (hour.refusals ?? 0)));
  const step = distanceOfLines(most);
  const lines = Math.ceil(most / step);
  const [plotWidth, plotHeight] = [Math.max(0, width - START), HEIGHT - TOP - BOTTOM];
  const slot = plotWidth / hours.length;
  const bar = Math.max(1, Math.min(slot - (isWeek ? 1 : 4), WIDEST));
  const y = (value: number): number => TOP + plotHeight * (1 - value / (step * lines));
  const point = (clientX: number, element: Element): void => {
    const index = Math.floor((clientX - element.getBoundingClientRect().left - START) / slot);
    setPointed(index in hours ? index : undefined);
  };
  return (
    <figure className="chart" ref={place}>
      <figcaption>
        <span className="key">Sign-ins</span>
        <span className="key refused">Refused</span>
        <span className="pointed" aria-hidden="true">
          {pointed !== undefined && hours[pointed] && <Pointed hour={hours[pointed]} />}
        </span>
      </figcaption>
      <svg
        width={width}
        height={HEIGHT}
        role="group"
        aria-label="Sign-ins and refused sign-ins per hour; arrow keys go from bar to bar"
        onPointerMove={({ clientX, currentTarget }) => point(clientX, currentTarget)}
        onPointerLeave={() => setPointed(undefined)}
      >
        {Array.from({ length: lines + 1 }, (_, tick) => (
          <g key={tick} aria-hidden="true">
            <line className="grid" x1={START} x2={width} y1={y(tick * step)} y2={y(tick * step)} />
            <text x={START - 10} y={y(tick * step) + 4} textAnchor="end">
              {compact.format(tick * step)}
            </text>
          </g>
        ))}
        {hours.map(({ hour, sign_ins, refusals }, index) => {
          const x = START + index * slot + (slot - bar) / 2;
          const [signIns, all] = [sign_ins ?? 0, (sign_ins ?? 0) + (refusals ?? 0)];
          return (
            <g key={hour} aria-hidden="true">
              {index === pointed && (
                <rect className="band" x={START + index * slot} y={TOP} width={slot} height={plotHeight} />
              )}
              {sign_ins === null && (
                <rect className="unknown" x={x} y={TOP} width={bar} height={plotHeight} />
              )}
              <rect
                className="sign-ins"
                rx={1.5}
                x={x}
                y={y(signIns)}
                width={bar}
                height={y(0) - y(signIns)}
              />
              <rect className="refused" rx={1.5} x={x} y={y(all)} width={bar} height={y(signIns) - y(all)} />
            </g>
          );
        })}
        <HourLinks
          hours={hours}
          placeOf={(index) => ({ x: START + index * slot, width: slot })}
          top={TOP}
          middleOf={({ sign_ins }) => y(sign_ins ?? 0)}
          bottom={y(0)}
          point={setPointed}
        />
        {labels(hours, isWeek, slot).map(({ index, text }) => (
          <text
            key={index}
            aria-hidden="true"
            x={START + (index + (isWeek ? 0 : 0.5)) * slot}
            y={HEIGHT - 8}
            textAnchor={isWeek ? 'start' : 'middle'}
          >
            {text}
          </text>
        ))}
      </svg>
    </figure>
  );
}

function Pointed({ hour: { hour, sign_ins, refusals } }: { hour: Hour }): ReactNode {
  return (
    <>
      {hourText(hour)}: <b>{sign_ins === null ? '?' : formatNumber(sign_ins)}</b> sign-ins,{' '}
      <b>{refusals === null ? '?' : formatNumber(refusals)}</b> refused
    </>
  );
}

/** 1, 2 or 5 times a power of ten. */
function distanceOfLines(most: number): number {
  const least = Math.max(1, most / MOST_LINES);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least)!;
}

/** Texts below the bars, as many as fit: every few hours of a day, every midnight of a week or every second one. */
function labels(hours: readonly Hour[], isWeek: boolean, slot: number): { index: number; text: string }[] {
  const distance = (isWeek ? [24, 48] : [2, 3, 6]).find((one) => one * slot >= ROOM) ?? (isWeek ? 48 : 12);
  const begins = (time: Date): boolean =>
    isWeek ? time.getHours() === 0 && (time.getDate() % 2) * distance < 48 : time.getHours() % distance === 0;
  const last = hours.length - (ROOM / slot) * (isWeek ? 1 : 0.5);
  return hours.flatMap(({ hour }, index) => {
    const time = new Date(hour);
    if (!begins(time) || index > last) return [];
    return [{ index, text: isWeek ? day.format(time) : hourOnly.format(time) }];
  });
}

/** The width of an element, which follows the window. */
function useWidth(): [RefObject<HTMLElement | null>, number] {
  const element = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(320);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}
