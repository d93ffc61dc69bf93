// Package config has the settings of the program: one struct, read from flags, the
// environment, a YAML file and defaults; the first source that has a setting wins.
//
// Each setting has one key, such as nats_stream. It is set by
//
//	--set nats_stream=NAME          on the command line
//	ACCESSION_NATS_STREAM=NAME      in the environment
//	nats_stream: NAME               in the file that --config or ACCESSION_CONFIG names
//
// A setting that may hold a secret can also be read from a file:
// ACCESSION_POSTGRES_FILE=/run/secrets/postgres.
//
// [Load] returns every fault at once, each with its key, its origin and the remedy.
// [Resolved.Rows] returns the settings without passwords.
package config
