import { pino, type DestinationStream } from 'pino';
import pretty from 'pino-pretty';
import type { Settings } from '../config/settings/settings.js';
import { readableLine } from './readable-line.js';

/** Whether the log is for people (LOG_FORMAT): in development, and always at a terminal, unless it was set. */
export function isReadable({ logFormat, production }: Pick<Settings, 'logFormat' | 'production'>): boolean {
  return (logFormat ?? (production && !process.stdout.isTTY ? 'json' : 'text')) === 'text';
}

/** Where the log goes: standard output, as one JSON object or as one readable line each, with colours at a terminal that has them. */
export function logOutput(settings: Pick<Settings, 'logFormat' | 'production'>): DestinationStream {
  if (!isReadable(settings)) return pino.destination(1);
  return pretty({
    sync: true, // a line that is written before the process ends is there
    colorize: hasColors(),
    customColors: 'fatal:bgRed,error:red,warn:yellow,info:green,debug:blue,trace:gray,message:reset',
    translateTime: 'SYS:HH:MM:ss',
    hideObject: true,
    messageFormat: readableLine,
    customPrettifiers: { time: (time) => (typeof time === 'string' ? time : '') },
  });
}

/** Node.js honours NO_COLOR, FORCE_COLOR and the kind of the terminal. */
export function hasColors(): boolean {
  return process.stdout.isTTY && process.stdout.hasColors();
}
