import { instance } from '@viz-js/viz';
import {
  getNamedType,
  getNullableType,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  isAbstractType,
  isListType,
  isObjectType,
} from 'graphql';

/** A connection from one type to another. */
export interface DiagramEdge {
  readonly from: string;
  readonly to: string;
  /** The fields that return the other type. Empty: the other type is a possible type of an abstract type. */
  readonly fields: readonly string[];
  /** Whether the fields return several objects, as a connection or as a list. */
  readonly isMany: boolean;
}

/**
 * Returns the connections between the types that queries can reach, from `Query` on. A GraphQL connection
 * with its edges and pages is represented by its node type.
 */
export function connectionsOf(schema: GraphQLSchema): DiagramEdge[] {
  const found = new Map<string, DiagramEdge>();
  const seen = new Set<string>();
  const visit = (type: GraphQLNamedType) => {
    if (seen.has(type.name)) return;
    seen.add(type.name);
    for (const { to, field, isMany } of stepsFrom(type, schema)) {
      const key = `${type.name} ${to.name} ${isMany}`;
      const known = found.get(key);
      const fields = [...(known?.fields ?? []), ...(field === null ? [] : [field])];
      found.set(key, { from: type.name, to: to.name, fields, isMany });
      visit(to);
    }
  };
  const query = schema.getQueryType();
  if (query) visit(query);
  return [...found.values()];
}

/** Draws the diagram as SVG that uses the colors of the page. */
export async function drawDiagram(connections: readonly DiagramEdge[]): Promise<string> {
  const viz = await instance();
  const names = [...new Set(connections.flatMap(({ from, to }) => [from, to]))];
  const svg = viz.renderString(
    {
      graphAttributes: { rankdir: 'LR', bgcolor: 'transparent', nodesep: 0.25, ranksep: 0.9, pad: 0.1 },
      nodeAttributes: { shape: 'box', style: 'rounded', fontname: 'sans-serif', fontsize: 14, height: 0.4 },
      edgeAttributes: { fontname: 'sans-serif', fontsize: 11, arrowsize: 0.7 },
      nodes: names.map((name) => ({ name })),
      edges: connections.map(({ from, to, fields, isMany }) => ({
        tail: from,
        head: to,
        attributes: {
          label: linesOf(isMany ? fields.map((field) => `[${field}]`) : fields).join('\n'),
          style: fields.length === 0 ? 'dashed' : 'solid',
          arrowhead: 'vee',
        },
      })),
    },
    { format: 'svg' },
  );
  // Removes the XML declaration and the size in points, because the page determines the size.
  return svg
    .slice(svg.indexOf('<svg'))
    .replace(/<title>[^<]*<\/title>\n?/g, '')
    .replace(/<!--[^>]*-->\n?/g, '')
    .replace(/ (fill|stroke)="(black|none|transparent)"/g, '')
    .trim();
}

/** Formats names of fields, two per line. */
function linesOf(fields: readonly string[]): string[] {
  const lines: string[] = [];
  for (let start = 0; start < fields.length; start += 2)
    lines.push(fields.slice(start, start + 2).join(', '));
  return lines;
}

interface Step {
  readonly to: GraphQLNamedType;
  readonly field: string | null;
  readonly isMany: boolean;
}

function stepsFrom(type: GraphQLNamedType, schema: GraphQLSchema): Step[] {
  if (isAbstractType(type))
    return schema.getPossibleTypes(type).map((to) => ({ to, field: null, isMany: false }));
  if (!isObjectType(type)) return [];
  return Object.values(type.getFields()).flatMap((field): Step[] => {
    const { to, isMany } = targetOf(field);
    return isObjectType(to) || isAbstractType(to) ? [{ to, field: field.name, isMany }] : [];
  });
}

function targetOf({ type }: GraphQLField<unknown, unknown>): { to: GraphQLNamedType; isMany: boolean } {
  const to = getNamedType(type);
  const nodes = isObjectType(to) ? nodesOf(to) : null;
  if (nodes !== null) return { to: nodes, isMany: true };
  return { to, isMany: isListType(getNullableType(type)) };
}

/** Returns the node type of a connection. Null: the type is not a connection. */
function nodesOf(type: GraphQLObjectType): GraphQLNamedType | null {
  const { nodes, pageInfo } = type.getFields();
  return nodes === undefined || pageInfo === undefined ? null : getNamedType(nodes.type);
}
