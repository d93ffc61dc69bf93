// Package config holds the settings of the program: one struct, read from flags
// over environment over a YAML file over defaults.
//
// Each setting has one key, such as nats_stream. It is given as
//
//	--set nats_stream=NAME          on the command line
//	ACCESSION_NATS_STREAM=NAME      in the environment
//	nats_stream: NAME               in the file that --config or ACCESSION_CONFIG names
//
// A setting that may hold a secret can also be given as a file that holds it:
// ACCESSION_POSTGRES_FILE=/run/secrets/postgres.
//
// [Load] names every fault at once, each with its key, where the value came from
// and the remedy. [Resolved.Rows] shows what holds, without passwords.
package config
