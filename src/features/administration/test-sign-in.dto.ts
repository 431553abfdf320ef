import { OptionalText } from '../../platform/http/parameters/parameter.js';
import { STATE } from '../../auth/states/state.service.js';

/** Body of POST /admin/providers/:name/test: nothing, to begin; the parameters of the callback, to finish. */
export class TestSignInDto {
  /** `code` of the callback, or `ticket` (CAS). */
  @OptionalText({ max: 16_384 })
  code?: string;

  /** As in the answer to the first call: 64 hex characters, used once. */
  @OptionalText({ matches: { pattern: STATE, as: '64 hex characters' } })
  state?: string;

  /** `iss` of the callback, if it has one. */
  @OptionalText({ max: 2048 })
  iss?: string;
}

/** Answer of POST /admin/providers/:name/test that begins a test. */
export class TestBegun {
  /** The provider's authorization page, which returns to `<PUBLIC_URL>/admin/callback`. */
  redirect_url!: string;

  state!: string;
}

/** Identity with the fields of spec §2.5. */
export class TestedIdentity {
  provider_user_id!: string;

  username!: string | null;

  email!: string | null;

  avatar_url!: string | null;
}

/** Verdict of the setting `allow` of the provider. */
export class AllowVerdict {
  allowed!: boolean;

  /** The conditions that hold, as they are set; null: none. */
  by!: string | null;

  /** Kind of the condition that does not hold (`email_domain`, `claim`); null: one holds. */
  reason!: string | null;
}

/** Claim of the provider that is not kept. */
export class DroppedClaim {
  name!: string;

  why!: string;
}

/** Answer of POST /admin/providers/:name/test that finishes a test. */
export class TestResult {
  /** Null: the sign-in failed. */
  identity!: TestedIdentity | null;

  /** Of a sign-in that failed: code of the error that a client would have got. */
  error?: string;

  /**
   * Of a sign-in that failed: what the provider said, its status and the settings to look at, as in the log.
   */
  reason?: string;

  /** What the provider sent about the user. Null: it sent nothing, or its adapter does not report it. */
  claims_received!: Record<string, unknown> | null;

  /** Claims that the user would have from the provider and its directory, by name. */
  claims_kept!: Record<string, unknown>;

  claims_dropped!: DroppedClaim[];

  /**
   * What the directory of the provider says: `none` if it does not know the user. Null: there is no
   * directory, or the sign-in failed.
   */
  directory!: 'active' | 'inactive' | 'none' | null;

  /** Null: the provider has no setting `allow`, or the sign-in failed. */
  allow!: AllowVerdict | null;
}
