/**
 * What a directory says of a name, for sign-ins: one statement in place of four. Parameters: the provider,
 * the name, and the name in lower case.
 * @param condition finds the directory user with the name, by an index
 */
const find = (attribute: string, condition: string) => ({
  name: `directory-standing-${attribute}`,
  text: `
    SELECT one.id, one.active, one.activated_at AS "activatedAt", one.resource -> 'roles' AS roles,
      (SELECT array_agg(claim) FROM directory_sources WHERE provider = $1) AS sources,
      (
        SELECT array_agg(known.display_name ORDER BY known.display_name)
        FROM directory_members AS member JOIN directory_groups AS known ON known.id = member.group_id
        WHERE member.user_id = one.id AND NOT member.removed AND NOT known.removed AND known.provider = $1
      ) AS groups
    FROM directory_users AS one WHERE one.provider = $1 AND ${condition}
    UNION ALL
    SELECT NULL, false, NULL, NULL, NULL, NULL FROM directory_removals WHERE provider = $1 AND name = $2`,
});

/** By `scim_attribute`. A row without an id: the directory has deleted the person. */
export const FIND_STANDING = {
  externalId: find('external-id', 'one.external_id = $2 AND $3::text IS NOT NULL'),
  userName: find('user-name', 'one.user_name_key = $3 AND one.user_name = $2'),
};

export interface StandingRow {
  readonly id: string | null;
  readonly active: boolean;
  /** Null without an id. */
  readonly activatedAt: Date | null;
  readonly roles: readonly { readonly value: string }[] | null;
  readonly sources: readonly string[] | null;
  readonly groups: readonly string[] | null;
}
