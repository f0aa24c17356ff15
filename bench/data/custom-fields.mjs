// Five custom fields of users: the model file that declares them, and their values in the mirror.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const MODEL = `users:
  fields:
    phone: {attribute: telephoneNumber, type: String, description: Phone number at work.}
    office: {attribute: roomNumber, type: String, description: Number of the office.}
    staffNumber: {attribute: employeeNumber, type: Int, description: Number of a member of the staff.}
    isExternal: {attribute: isExternal, type: Boolean, description: Whether the contract is with another school.}
    endsAt: {attribute: endsAt, type: DateTime, description: End of the contract.}
`;

/** A model of built-in fields only, without rules, unlike that of the sample. @returns the path of the file */
export function writeBuiltInModel(directory) {
  const file = join(directory, 'built-in.yaml');
  writeFileSync(file, 'server: openldap\n');
  return file;
}

/** @returns the path of the model file */
export function writeModel(directory) {
  const file = join(directory, 'model.yaml');
  writeFileSync(file, MODEL);
  return file;
}

/** SQL for the value of each field, of a row of `users`. */
const VALUES = {
  phone: `'+41 44 ' || key`,
  office: `'A ' || key % 100`,
  staffNumber: 'key',
  isExternal: 'key % 2 = 0',
  endsAt: `'2026-01-01T00:00:00.000Z'`,
};

/**
 * Gives every user a value of each field, as synchronization writes it.
 * @param file the model file that declares the fields
 */
export async function fillCustomFields(connection, file) {
  const members = await storedValues(file);
  await connection.query(`update users set field_values = jsonb_build_object(${members.join(', ')})`);
  await connection.query('vacuum full users');
  await connection.query('vacuum analyze users');
}

/** @returns SQL for the name under which the service stores each field, and for its value */
async function storedValues(file) {
  const { readConfig } = await import('../../dist/config/config.js');
  const { storedName } = await import('../../dist/common/field.js');
  const { fields } = readConfig({ DIRECTORY_MODEL: file }).directory.mapping.users;
  return Object.entries(VALUES).flatMap(([name, value]) => {
    const field = fields.find((each) => each.name === name);
    if (field === undefined) throw new Error(`The model has no field ${name}`);
    return [`'${storedName(field)}'`, value];
  });
}
