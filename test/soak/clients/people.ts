import { randomInt } from 'node:crypto';
import type { Tokens } from '../../support/sign-in.js';
import { jsonOf, type Http } from './http.js';
import type { Kind } from './kinds.js';
import { anyOf, Place, type Lives } from './place.js';
import { begin, finish } from './sign-in.js';

/** Of each. */
export const DEVICES = 3;

/** People who sign in, use their tokens, sign out, or just go away. Each method is one thing that somebody does. */
export class People {
  private readonly places: readonly Place[];

  constructor(
    users: number,
    private readonly lives: Lives,
    private readonly http: Http,
  ) {
    const devices = Array.from({ length: DEVICES }, (_, device) => device);
    this.places = Array.from({ length: users }, (_, user) =>
      devices.map((device) => new Place(user, device)),
    ).flat();
  }

  /** Where nobody is signed in; else somebody leaves a session behind, which ends by expiry. */
  async signIn(due: number): Promise<void> {
    const place =
      anyOf(this.places, (one) => one.busy === 0 && !one.canRefresh) ??
      anyOf(this.places, (one) => one.busy === 0);
    if (place) await place.hold(() => this.signInAt(place, due));
  }

  /** A state that nobody comes back with. */
  async beginOnly(due: number): Promise<void> {
    await begin(this.http, 'stub', this.places[randomInt(this.places.length)]!.address(), due);
  }

  async refresh(due: number): Promise<void> {
    const place = this.somebody();
    if (place) await this.refreshAt(place, due);
  }

  async readMe(due: number): Promise<void> {
    await this.use('GET /me', { method: 'GET', path: '/me' }, due);
  }

  async listDevices(due: number): Promise<void> {
    await this.use('GET /devices', { method: 'GET', path: '/devices' }, due);
  }

  async rename(due: number): Promise<void> {
    const body = { device_name: `device ${randomInt(1000)}` };
    await this.use(
      'rename',
      ({ deviceId }) => ({ method: 'PATCH', path: `/devices/${deviceId}`, body }),
      due,
    );
  }

  /** Mostly of this device; sometimes of the others, or of all. */
  async signOut(due: number): Promise<void> {
    const place = anyOf(this.places, (one) => one.busy === 0 && one.canAsk);
    if (!place) return;
    const others = this.places.filter((one) => one.user === place.user && one !== place);
    const isAlone = others.every(({ busy }) => busy === 0);
    const scope = isAlone && randomInt(5) === 0 ? (['others', 'all'] as const)[randomInt(2)]! : 'current';
    const { accessToken: bearer } = place.session!;
    const ended = scope === 'current' ? [place] : scope === 'others' ? others : [place, ...others];
    for (const one of ended) one.session = undefined;
    for (const one of [place, ...others]) one.busy++;
    const call = {
      method: 'POST',
      path: '/sign-out',
      body: { scope },
      bearer,
      from: place.address(),
    } as const;
    await this.http.expect('sign-out', call, due, 204);
    for (const one of [place, ...others]) one.busy--;
  }

  /** The id of somebody who is signed in. */
  anyUser(): string | undefined {
    return anyOf(this.places, (one) => one.session !== undefined)?.session?.userId;
  }

  anyToken(): string | undefined {
    return anyOf(this.places, (one) => one.canAsk)?.session?.accessToken;
  }

  /** Somebody who is signed in, with an access token that is good for some seconds. */
  async withToken(due: number): Promise<Place | undefined> {
    const place = this.somebody();
    if (!place) return undefined;
    if (!place.canAsk) await this.refreshAt(place, due);
    return place.canAsk ? place : undefined;
  }

  /** @returns whether there is a new access token */
  async refreshAt(place: Place, due: number): Promise<boolean> {
    const { session } = place;
    if (!session || !place.canRefresh) return false;
    return place.hold(async () => {
      const sent = performance.now();
      const body = { refresh_token: session.refreshToken };
      const call = { method: 'POST', path: '/oauth2/refresh', body, from: place.address() } as const;
      const answer = await this.http.expect('refresh', call, due, 200);
      if (!answer) return false;
      session.accessToken = (jsonOf(answer) as Tokens).access_token;
      session.accessUntil = sent + this.lives.access * 1000;
      return true;
    });
  }

  private somebody(): Place | undefined {
    return anyOf(this.places, (one) => one.canRefresh);
  }

  private async use(kind: Kind, what: Ask | ((place: Place) => Ask), due: number): Promise<void> {
    const place = anyOf(this.places, (one) => one.canAsk);
    if (!place) return this.refresh(due);
    await place.hold(async () => {
      const call = typeof what === 'function' ? what(place) : what;
      const bearer = place.session!.accessToken;
      // Far fewer renames than a user may make in a minute; beyond.ts has somebody who makes more.
      await this.http.expect(kind, { ...call, bearer, from: place.address() }, due, 200);
    });
  }

  private async signInAt(place: Place, due: number): Promise<void> {
    const begun = await begin(this.http, 'stub', place.address(), due);
    if (!begun) return;
    const sent = performance.now();
    const { code, deviceId: device_id } = place;
    const tokens = await finish(this.http, 'sign-in', begun, { code, device_id }, place.address());
    if (tokens) place.begin(tokens, sent, this.lives);
  }
}

type Ask = { readonly method: 'GET' | 'PATCH'; readonly path: string; readonly body?: object };
