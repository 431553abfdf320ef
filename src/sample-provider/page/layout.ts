import { html, type Html } from '../../http/page/html.js';
import { layout as page } from '../../http/page/layout.js';
import { scriptElements } from './scripts.js';

const NAME = 'Sample identity provider';

/** The frame of every page of the sample provider. @param title says what the page is about */
export function layout(title: string, content: Html): Html {
  return page({ title: `${title}: ${NAME}`, brand: NAME }, html`${content}${scriptElements}`);
}
