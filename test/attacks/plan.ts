/** A node of a plan, as `EXPLAIN (ANALYZE, FORMAT JSON)` prints it. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly PlanNode[];
  readonly [member: string]: unknown;
}

/** A node, and all below it. */
export function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

/** Rows read, also those that a filter or a join has removed. */
export function rowsRead(node: PlanNode): number {
  const removed = Object.entries(node).filter(([member]) => member.startsWith('Rows Removed by'));
  const rows = removed.reduce((sum, [, count]) => sum + (count as number), node['Actual Rows']);
  return Math.round(rows * node['Actual Loops']);
}
