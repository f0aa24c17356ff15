/**
 * Settings that are sent first on every connection. A role or a database may have other defaults, which would
 * change the text form of instants, bytes and numbers, end idle sessions, or make transactions fail because
 * of each other.
 */
export const SESSION_SETTINGS = `
  set datestyle = 'ISO, YMD'; set bytea_output = 'hex'; set extra_float_digits = 1; set standard_conforming_strings = on;
  set default_transaction_isolation = 'read committed'; set default_transaction_deferrable = off;
  set idle_session_timeout = 0; set lock_timeout = 0`;
