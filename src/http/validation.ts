import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify';
import type { z } from 'zod';
import { DomainError } from '../domain/errors.ts';
import { describeIssue } from '../domain/validation-messages.ts';

/** Validates part of a request. An InvalidRequest names at most {@link MAX_NAMED_FIELDS} invalid fields. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (data: unknown) => {
    const { data: value, error } = schema.safeParse(data, { error: describeIssue });
    return error === undefined ? { value } : { error: invalidRequest(error.issues) };
  };

/** Serializes a response by its schema, which drops all other fields. */
export const serializerCompiler: FastifySerializerCompiler<z.ZodType> =
  ({ schema }) =>
  (data: unknown) =>
    JSON.stringify(schema.parse(data));

/** A request can contain any number of invalid fields with names of any length. An error must stay short. */
const MAX_NAMED_FIELDS = 10;
const MAX_FIELD_NAME_LENGTH = 200;

/** `field` is the first of `fields`, for programs that read only one. */
function invalidRequest(issues: readonly z.core.$ZodIssue[]): DomainError {
  const all = issues.flatMap((issue) => pathsOf(issue).map((path) => ({ path, message: issue.message })));
  const faults = all.slice(0, MAX_NAMED_FIELDS).map(({ path, message }) => {
    const field = path.map(String).join('.').slice(0, MAX_FIELD_NAME_LENGTH);
    return { field, sentence: field === '' ? message : `${field}: ${message}` };
  });
  const fields = faults.map(({ field }) => field);
  const more = all.length > MAX_NAMED_FIELDS ? [`and ${all.length - MAX_NAMED_FIELDS} more`] : [];
  const message = [...faults.map(({ sentence }) => sentence), ...more].join('; ');
  return new DomainError('InvalidRequest', message, { field: fields[0] ?? '', fields });
}

/** One zod issue covers all unknown keys of an object. */
function pathsOf(issue: z.core.$ZodIssue): readonly (readonly PropertyKey[])[] {
  if (issue.code !== 'unrecognized_keys') return [issue.path];
  return issue.keys.map((key) => [...issue.path, key]);
}
