import { createColumnHelper, tableFeatures, useTable, type ColumnDef } from '@tanstack/react-table';
import type { ReactNode } from 'react';

const features = tableFeatures({});

/** A column of a table; `cell` renders a row's value. */
export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
}

/** Makes the columns of `<Table>`, once for each table, outside of components. */
export function columnsOf<Row extends object>(
  columns: readonly Column<Row>[],
): ColumnDef<typeof features, Row>[] {
  const helper = createColumnHelper<typeof features, Row>();
  return columns.map(({ id, title, cell }) =>
    helper.display({ id, header: title, cell: ({ row }) => cell(row.original) }),
  );
}

/** A table; on a narrow screen each row is a card. The roles stay although CSS changes `display`. */
export function Table<Row extends object>({
  label,
  columns,
  rows,
  keyOf,
  isOld = false,
}: {
  label: string;
  columns: ColumnDef<typeof features, Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  isOld?: boolean;
}): ReactNode {
  const table = useTable({ features, columns, data: rows, getRowId: keyOf });
  return (
    <table role="table" aria-label={label} className="table" aria-busy={isOld}>
      <thead role="rowgroup">
        {table.getHeaderGroups().map((group) => (
          <tr key={group.id} role="row">
            {group.headers.map((header) => (
              <th key={header.id} role="columnheader" scope="col" data-column={header.column.id}>
                <table.FlexRender header={header} />
              </th>
            ))}
          </tr>
        ))}
      </thead>
      <tbody role="rowgroup">
        {table.getRowModel().rows.map((row) => (
          <tr key={row.id} role="row">
            {row.getAllCells().map((cell) => (
              <td
                key={cell.id}
                role="cell"
                data-column={cell.column.id}
                data-title={String(cell.column.columnDef.header)}
              >
                <table.FlexRender cell={cell} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
