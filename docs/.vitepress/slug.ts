/**
 * The id of a heading, by GitHub's rule, which the site follows too: so one `#fragment` fits both.
 * A heading that comes twice gets `-1`, `-2`, … in both (markdown-it-anchor does it).
 */
export function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}
