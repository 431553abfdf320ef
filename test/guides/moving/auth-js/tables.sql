-- As the page of @auth/pg-adapter has them, with a role, and with rows of the application.
CREATE TABLE verification_token (
  identifier text NOT NULL,
  expires timestamptz NOT NULL,
  token text NOT NULL,
  PRIMARY KEY (identifier, token)
);
CREATE TABLE accounts (
  id serial PRIMARY KEY,
  "userId" integer NOT NULL,
  type varchar(255) NOT NULL,
  provider varchar(255) NOT NULL,
  "providerAccountId" varchar(255) NOT NULL,
  refresh_token text,
  access_token text,
  expires_at bigint,
  id_token text,
  scope text,
  session_state text,
  token_type text
);
CREATE TABLE sessions (
  id serial PRIMARY KEY,
  "userId" integer NOT NULL,
  expires timestamptz NOT NULL,
  "sessionToken" varchar(255) NOT NULL
);
CREATE TABLE users (
  id serial PRIMARY KEY,
  name varchar(255),
  email varchar(255),
  "emailVerified" timestamptz,
  image text,
  role text
);
CREATE TABLE notes (
  user_id integer NOT NULL REFERENCES users (id),
  text text NOT NULL
);
