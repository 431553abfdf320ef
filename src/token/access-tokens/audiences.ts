import { hash, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';

/** An API with separate tokens, which nothing else accepts (RFC 8707). */
export interface Audience {
  /** `aud` of its tokens. */
  readonly resource: string;
  /** Names of the claims of a user that its tokens carry. */
  readonly claims: readonly string[];
  /** SHA-256 of its service keys. */
  readonly keyHashes: readonly Buffer[];
}

/** All such APIs; none unless a feature adds them at start. */
@Injectable()
export class Audiences {
  private all: readonly Audience[] = [];

  /** @public */
  add(audiences: readonly Audience[]): void {
    this.all = [...this.all, ...audiences];
  }

  get names(): string[] {
    return this.all.map(({ resource }) => resource);
  }

  /** Finds the API of an identifier, in any letter case of scheme and host, with or without a final slash. */
  find(resource: unknown): Audience | undefined {
    if (this.all.length === 0 || typeof resource !== 'string') return undefined;
    const key = normalizeResource(resource);
    return this.all.find((one) => normalizeResource(one.resource) === key);
  }

  /** Finds the API of a service key, in constant time. */
  findByKey(text: string): Audience | undefined {
    if (this.all.length === 0) return undefined;
    const presented = hash('sha256', text, 'buffer');
    const [found] = this.all.filter(({ keyHashes }) =>
      keyHashes.map((one) => timingSafeEqual(one, presented)).includes(true),
    );
    return found;
  }
}

/** Returns what is compared of an API's identifier; text that is no URL as it is. @public */
export function normalizeResource(resource: string): string {
  const parts = /^([a-z][a-z\d+.-]*:\/\/[^/?#]*)([^]*)$/i.exec(resource);
  if (!parts) return resource;
  return parts[1]!.toLowerCase() + parts[2]!.replace(/\/$/, '');
}
