package config

import "time"

// Off is how a listener that is not wanted is written.
const Off = "off"

// Config is everything that can be set. The tags name the key and the default.
type Config struct {
	// Instance names this installation: it stands in the source of every event and
	// marks the working directory. 1 to 64 of a–z, 0–9 and -, the first a letter.
	Instance string `key:"instance" default:"accession"`

	// ZooKeeper lists host:port of the servers, with commas. Required: at least one.
	ZooKeeper []string `key:"zookeeper" default:"127.0.0.1:2181"`
	// ZooKeeperRoot is the node that everything lives under: a path from the root.
	ZooKeeperRoot string `key:"zookeeper_root" default:"/accession"`
	// ZooKeeperSessionTimeout is how long a silent process keeps its claims: 1s to
	// 60s. The servers may bound it further (2 to 20 of their ticks).
	ZooKeeperSessionTimeout time.Duration `key:"zookeeper_session_timeout" default:"10s"`

	// NATS lists nats:// or tls:// URLs of the servers, with commas.
	NATS []string `key:"nats" default:"nats://127.0.0.1:4222" secret:"true"`
	// NATSStream names the stream of events: 1 to 64 of A–Z, a–z, 0–9, _ and -.
	NATSStream string `key:"nats_stream" default:"ACCESSION"`
	// NATSPrefix begins every subject: words of a–z, 0–9, _ and - with dots.
	NATSPrefix string `key:"nats_prefix" default:"accession.v1"`

	// Postgres is a postgres:// URL.
	Postgres string `key:"postgres" default:"postgres://127.0.0.1:5432/accession" secret:"true"`
	// PostgresConns bounds the connections of one process: 4 to 1000.
	PostgresConns int `key:"postgres_conns" default:"16"`

	// DataDir holds what the four settings below do not place elsewhere.
	DataDir string `key:"data_dir" default:"/var/lib/accession"`
	// Store is where objects are kept: a directory or a bucket URL. Default
	// DATA_DIR/store.
	Store string `key:"store" secret:"true"`
	// WorkDir is where jobs download; all processes of an installation share it.
	// Default DATA_DIR/work.
	WorkDir string `key:"work_dir"`
	// ProfilesDir holds the profiles, one *.yaml a collection. Default
	// DATA_DIR/profiles.
	ProfilesDir string `key:"profiles_dir"`
	// MailDir is the drop directory that mails are written to. Default
	// DATA_DIR/mail.
	MailDir string `key:"mail_dir"`

	// Workers is how many claims single daemons work on at once in this process:
	// name=number, such as job-downloading=16,job-processing=2; 0 to 256, 0 = the
	// daemon does not run here. Daemons that are not named take one to four.
	Workers map[string]int `key:"workers"`

	// OutboxShards is how many parts the outbox has: 1 to 64, fixed when the tree is
	// first made.
	OutboxShards int `key:"outbox_shards" default:"4"`
	// OutboxGrace is how long sent events stay in ZooKeeper as a second line: 0s to
	// 10m.
	OutboxGrace time.Duration `key:"outbox_grace" default:"10s"`

	// GroupCommit lets decisions that wait at the same moment share a write to
	// ZooKeeper: true or false. See docs/operating.md.
	GroupCommit bool `key:"group_commit" default:"true"`
	// RelayHints lets a relay have the events that its own process wrote without
	// reading them from ZooKeeper: true or false.
	RelayHints bool `key:"relay_hints" default:"true"`

	// HandOver lets a worker go on with a job in its next state without claiming it
	// anew: true or false.
	HandOver bool `key:"hand_over" default:"true"`

	// OutboxWarn is how many nodes of the outbox may wait for the log before operators
	// are told; at OutboxFull no deposits are taken, at OutboxStop nothing is claimed
	// or changed until the log takes events again: 1 to 1000000, each larger than the
	// one before. A node holds some kilobytes of ZooKeeper's memory.
	OutboxWarn int `key:"outbox_warn" default:"5000"`
	OutboxFull int `key:"outbox_full" default:"20000"`
	OutboxStop int `key:"outbox_stop" default:"40000"`
	// QueueLimit is how many jobs may be in one state, and how many batches in
	// ZooKeeper, before no jobs are made and no deposits taken: 100 to 1000000.
	// Listing a directory of more than 52424 breaks clients that take answers of 1 MiB
	// at most, such as those of Java; this program takes them.
	QueueLimit int `key:"queue_limit" default:"50000"`

	// FetchConnectTimeout is how long a depositor's server may take to be connected
	// to: 10ms to 5m.
	FetchConnectTimeout time.Duration `key:"fetch_connect_timeout" default:"10s"`
	// FetchResponseTimeout is how long it may take from the request to the first of
	// the answer: 10ms to 30m. How long a whole file may take is in its profile.
	FetchResponseTimeout time.Duration `key:"fetch_response_timeout" default:"1m"`

	// SpaceReserve is what provisioning leaves free on the file system of WorkDir:
	// bytes, also written 512 MiB or 10 GiB.
	SpaceReserve Bytes `key:"space_reserve" default:"1 GiB"`
	// SpaceCycle is how long a job waits for space before it is looked at again:
	// 10ms to 10m.
	SpaceCycle time.Duration `key:"space_cycle" default:"10s"`
	// RetryDelay is the first pause before work is tried again that one of our own
	// servers stood in the way of; it doubles up to a minute: 10ms to 1m.
	RetryDelay time.Duration `key:"retry_delay" default:"1s"`
	// JanitorInterval is the pause between two passes of the janitor: 100ms to 24h.
	JanitorInterval time.Duration `key:"janitor_interval" default:"1m"`
	// Retention is how long a completed batch is kept in ZooKeeper: 0s to 87600h,
	// 0s = for ever. Its history stays in the log and in PostgreSQL.
	Retention time.Duration `key:"retention" default:"720h"`

	// SweepInterval is the pause between two passes of the sweeper, which ends
	// attempts that are overdue: 10ms to 24h.
	SweepInterval time.Duration `key:"sweep_interval" default:"1m"`
	// DownloadTimeout is how long downloading a file may take before somebody else
	// may try, by the clock of the log: 1ms to 168h. A file of a job may always take
	// as long as fetch.timeout of its profile says.
	DownloadTimeout time.Duration `key:"download_timeout" default:"2h"`
	// ProcessingTimeout is the same for processing a file: 1ms to 168h.
	ProcessingTimeout time.Duration `key:"processing_timeout" default:"6h"`
	// MaxDownloadAttempts is how often a file of an open directory is tried before
	// it is given up: 1 to 20. For the files of a job its profile says so
	// (fetch.attempts).
	MaxDownloadAttempts int `key:"max_download_attempts" default:"3"`
	// MaxProcessingAttempts is how often processing a file is tried, also one of a
	// job, before it is given up: 1 to 20.
	MaxProcessingAttempts int `key:"max_processing_attempts" default:"3"`
	// FileRetryDelay is the time from the first failure of a file of an open
	// directory to its next attempt, doubled after each further one: 0s to 24h.
	FileRetryDelay time.Duration `key:"file_retry_delay" default:"0s"`
	// FileRetryMaxDelay bounds that time: 0s to 168h, 0s = no bound.
	FileRetryMaxDelay time.Duration `key:"file_retry_max_delay" default:"1h"`

	// StopGrace is how long running steps may go on after a stop was asked for:
	// 0s to 1h. Then they are cancelled and their jobs handed back.
	StopGrace time.Duration `key:"stop_grace" default:"20s"`

	// ListenOps is where operators, and what watches for them, ask: host:port for
	// health, metrics and version; port 0 = any; off = nowhere. It asks for no
	// password: bind it to an address that only they reach.
	ListenOps string `key:"listen_ops" default:"127.0.0.1:9477"`
	// OpsPprof serves profiles of the running process there too, below /debug/pprof/.
	OpsPprof bool `key:"ops_pprof" default:"false"`
	// ReadyMaxLag is how far the tables may be behind the log before /readyz says
	// that this process is not ready: 1s to 24h.
	ReadyMaxLag time.Duration `key:"ready_max_lag" default:"5m"`

	// LogFormat is json, text, or auto: text on a terminal, else json.
	LogFormat string `key:"log_format" default:"auto"`
	// LogLevel is debug, info, warn or error. PUT /loglevel changes it while a
	// process serves.
	LogLevel string `key:"log_level" default:"info"`
}
