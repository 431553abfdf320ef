/**
 * What a directory says of a person who signs in: one statement in place of five. Parameters: the provider,
 * the name as `toNameKey` makes it, and the user.
 * @param column value of `scim_attribute`
 * @param key column that an index finds
 */
const find = (attribute: string, column: string, key: string) => ({
  name: `directory-standing-${attribute}`,
  text: `
    SELECT one.id, ${column} AS name, one.active, one.activated_at AS "activatedAt", one.resource -> 'roles' AS roles,
      (SELECT array_agg(claim) FROM directory_sources WHERE provider = $1) AS sources,
      (
        SELECT array_agg(known.display_name ORDER BY known.display_name)
        FROM directory_members AS member JOIN directory_groups AS known ON known.id = member.group_id
        WHERE member.user_id = one.id AND NOT member.removed AND NOT known.removed AND known.provider = $1
      ) AS groups
    FROM directory_users AS one WHERE one.provider = $1 AND ${key} = $2
    UNION ALL
    SELECT NULL, NULL, false, NULL, NULL, NULL, NULL FROM (
      SELECT directory_user_id AS id FROM directory_former_names WHERE provider = $1 AND name = $2
      UNION ALL
      SELECT directory_user_id FROM directory_links WHERE user_id = $3
    ) AS former
    WHERE NOT EXISTS (SELECT FROM directory_users AS one WHERE one.id = former.id AND one.active)`,
});

/**
 * By `scim_attribute`. A row without an id: the directory user who had the name, or to whom the user is
 * linked, is inactive or deleted.
 */
export const FIND_STANDING = {
  externalId: find('external-id', 'one.external_id', 'one.external_id'),
  userName: find('user-name', 'one.user_name', 'one.user_name_key'),
};

export interface StandingRow {
  readonly id: string | null;
  /** Null without an id. */
  readonly name: string | null;
  readonly active: boolean;
  /** Null without an id. */
  readonly activatedAt: Date | null;
  readonly roles: readonly { readonly value: string }[] | null;
  readonly sources: readonly string[] | null;
  readonly groups: readonly string[] | null;
}
