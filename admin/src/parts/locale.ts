/** Of dates and numbers: the reader's own English, since the texts are English. */
export const LOCALE = navigator.languages.find((one) => one.startsWith('en')) ?? 'en-GB';

const number = new Intl.NumberFormat(LOCALE);
export const formatNumber = (value: number): string => number.format(value);
