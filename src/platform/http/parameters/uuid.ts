import { randomUUID } from 'node:crypto';
import type { PipeTransform } from '@nestjs/common';

/** A UUID of any version, in any case. */
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Ids of devices that are programs of third parties: of version 8 (RFC 9562 §5.8). No client may choose one.
 */
const OF_PROGRAM = /^a6e17000-[0-9a-f]{4}-8/i;

/** First and last id that `programDeviceId` returns. */
export const PROGRAM_DEVICES = [
  'a6e17000-0000-8000-8000-000000000000',
  'a6e17000-0000-8fff-bfff-ffffffffffff',
] as const;

/** Returns the device id of a program from the hash of what identifies it. @public */
export function programDeviceId(digest: Buffer): string {
  return `a6e17000-0000${uuidOfHash(digest).slice(13)}`;
}

/** Whether a session is of a program: it is no session of the application itself. */
export function isOfProgram(deviceId: string | null): boolean {
  return deviceId !== null && OF_PROGRAM.test(deviceId);
}

/** A UUID that a client has chosen. */
export const OWN_UUID = {
  matches: {
    pattern: { test: (text: string) => UUID.test(text) && !OF_PROGRAM.test(text) },
    as: 'a UUID, and none of a program',
  },
};

export const A_UUID = { matches: { pattern: UUID, as: 'a UUID' } };

/** Requires a UUID in the path; passes it on in lower case. */
export class UuidPipe implements PipeTransform<string, string> {
  constructor(private readonly errorOf: () => Error) {}

  transform(value: string): string {
    if (!UUID.test(value)) throw this.errorOf();
    return value.toLowerCase();
  }
}

/** Formats 32 hexadecimal digits as a UUID. @param at index of the first digit */
export function uuidIn(hex: string, at: number): string {
  const group = (from: number, to: number): string => hex.slice(at + from, at + to);
  return `${group(0, 8)}-${group(8, 12)}-${group(12, 16)}-${group(16, 20)}-${group(20, 32)}`;
}

/** Makes a UUID of version 8 (RFC 9562 §5.8), which no random one has, from the first 122 bits of a hash. */
export function uuidOfHash(digest: Buffer): string {
  const bytes = Buffer.from(digest.subarray(0, 16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x80; // version
  bytes[8] = (bytes[8]! & 0x3f) | 0x80; // variant
  return uuidIn(bytes.toString('hex'), 0);
}

/** Makes a UUID of version 7 (RFC 9562 §5.7): later ones are greater, so that an index grows at its end. */
export function uuidOfNow(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
