import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify';
import type { z } from 'zod';
import { DomainError } from '../domain/errors.ts';
import { describeIssue } from '../domain/validation-messages.ts';

/** Validates part of a request. Errors become InvalidRequest with the invalid fields, at most ten. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (data: unknown) => {
    const { data: value, error } = schema.safeParse(data, { error: describeIssue });
    return error === undefined ? { value } : { error: fieldsAtFault(error.issues) };
  };

/** Serializes a response as its schema says: other fields are left out. */
export const serializerCompiler: FastifySerializerCompiler<z.ZodType> =
  ({ schema }) =>
  (data: unknown) =>
    JSON.stringify(schema.parse(data));

/** Requests may contain any number of fields with names of any length. */
const MAX_NAMED = 10;
const LONGEST_NAME = 200;

/** `field` is the first of `fields`, for programs that read only one. */
function fieldsAtFault(issues: readonly z.core.$ZodIssue[]): DomainError {
  const all = issues.flatMap((issue) => pathsOf(issue).map((path) => ({ path, message: issue.message })));
  const faults = all.slice(0, MAX_NAMED).map(({ path, message }) => {
    const field = path.map(String).join('.').slice(0, LONGEST_NAME);
    return { field, sentence: field === '' ? message : `${field}: ${message}` };
  });
  const fields = faults.map(({ field }) => field);
  const more = all.length > MAX_NAMED ? [`and ${all.length - MAX_NAMED} more`] : [];
  const message = [...faults.map(({ sentence }) => sentence), ...more].join('; ');
  return new DomainError('InvalidRequest', message, { field: fields[0] ?? '', fields });
}

/** One zod issue covers all unknown keys of an object. */
function pathsOf(issue: z.core.$ZodIssue): readonly (readonly PropertyKey[])[] {
  if (issue.code !== 'unrecognized_keys') return [issue.path];
  return issue.keys.map((key) => [...issue.path, key]);
}
