CREATE TABLE notes (
  id serial PRIMARY KEY,
  owner text NOT NULL,
  text text NOT NULL
);
