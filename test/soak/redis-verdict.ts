import { levelText, ONE_IN, risen } from './row-verdicts.js';
import { bySpan, median, seriesOf, spanOf, type Sample } from './series.js';
import { slopeOf, slopeText, times } from './slope.js';
import type { Verdict } from './verdict.js';

/** Whether the keys in Redis expire, as all do: the counters of limits. @param samples of the time that is judged */
export function redisVerdict(samples: readonly Sample[]): Verdict {
  const points = seriesOf(samples, 'redis keys');
  const watched = spanOf(points);
  const expired = risen(seriesOf(samples, 'redis keys expired'));
  const grown = times(slopeOf(bySpan(points, 1, median)), watched);
  const bound = expired / ONE_IN;
  return {
    what: `keys in Redis: middle (least to most); expired; growth (95 % interval) in ${watched.toFixed(0)} min`,
    figure: `${levelText(points)}; ${expired}; ${slopeText(grown, 0)}`,
    wanted: `some expired; upper end ≤ ${bound.toFixed(0)}, one in ${ONE_IN} expired`,
    holds: expired > 0 && grown.high <= bound,
  };
}
