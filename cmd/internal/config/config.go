package config

import "time"

// Off is the address of a listener that is turned off.
const Off = "off"

// Config is every setting. The tags are its key, its default, its bounds (min, max) or
// its form (see forms), and whether it may hold a secret.
type Config struct {
	// Instance is the name of this installation, in the source of every event and in
	// the working directory: 1 to 64 of a–z, 0–9 and -, the first a letter.
	Instance string `key:"instance" default:"accession" form:"instance"`

	// OpenTimeout is how long ZooKeeper, NATS and PostgreSQL may each take to answer when
	// they are opened, before the process ends with an error: 1s to 1h.
	OpenTimeout time.Duration `key:"open_timeout" default:"10s" min:"1s" max:"1h"`

	// ZooKeeper is host:port of each server, separated by commas. At least one is
	// required.
	ZooKeeper []string `key:"zookeeper" default:"127.0.0.1:2181" form:"server"`
	// ZooKeeperRoot is the path of the node that holds everything.
	ZooKeeperRoot string `key:"zookeeper_root" default:"/accession" form:"root"`
	// ZooKeeperSessionTimeout is how long a silent process keeps its claims: 1s to
	// 60s. The servers may bound it further (2 to 20 of their ticks).
	ZooKeeperSessionTimeout time.Duration `key:"zookeeper_session_timeout" default:"10s" min:"1s" max:"1m"`

	// NATS is the nats:// or tls:// URL of each server, separated by commas.
	NATS []string `key:"nats" default:"nats://127.0.0.1:4222" secret:"true" form:"nats"`
	// NATSStream is the name of the stream of events: 1 to 64 of A–Z, a–z, 0–9, _ and -.
	NATSStream string `key:"nats_stream" default:"ACCESSION" form:"stream"`
	// NATSPrefix begins every subject: words of a–z, 0–9, _ and - with dots.
	NATSPrefix string `key:"nats_prefix" default:"accession.v1" form:"prefix"`

	// NATSTypesStream is the name of the stream of events by type, which the role types
	// fills: as nats_stream, and not the same.
	NATSTypesStream string `key:"nats_types_stream" default:"ACCESSION_TYPES" form:"stream"`
	// NATSTypesPrefix begins its subjects, PREFIX.types.KIND.NAME.TOKEN: as nats_prefix,
	// and such that these are not below nats_prefix.
	NATSTypesPrefix string `key:"nats_types_prefix" default:"accession" form:"prefix"`

	// Postgres is a postgres:// URL.
	Postgres string `key:"postgres" default:"postgres://127.0.0.1:5432/accession" secret:"true" form:"postgres"`
	// PostgresConns is the most connections of one process, beside three that it holds for
	// locks and to listen: 4 to 1000.
	PostgresConns int `key:"postgres_conns" default:"16" min:"4" max:"1000"`

	// DataDir is the directory of what the next five settings do not put elsewhere.
	DataDir string `key:"data_dir" default:"/var/lib/accession" form:"directory"`
	// Store is the object store: a directory, or s3://BUCKET/PREFIX?endpoint=URL&profile=NAME.
	// Default DATA_DIR/store.
	Store string `key:"store" secret:"true" form:"store"`
	// WorkDir is the working directory of jobs, shared by all processes of an
	// installation. Default DATA_DIR/work.
	WorkDir string `key:"work_dir" form:"directory"`
	// ProfilesDir is the directory of the profiles, one *.yaml for each collection.
	// Default DATA_DIR/profiles.
	ProfilesDir string `key:"profiles_dir" form:"directory"`
	// MailDir is the drop directory for mails, from which a mail system takes them. It is
	// used while smtp_server is not set. Default DATA_DIR/mail.
	MailDir string `key:"mail_dir" form:"directory"`
	// MailFrom is the address from which the reports of queries are mailed; without it none
	// are. The mails of deposits have that of their profile.
	MailFrom string `key:"mail_from" form:"address"`
	// DailyMail are the addresses, separated by commas, to which a mail goes each day that
	// says what is inconsistent, late or waits for a person. Without it there is none.
	DailyMail string `key:"daily_mail" form:"addresses"`
	// DailyMailAt is when it is sent, in UTC: 00:00 to 23:59. What was due while no process
	// ran is sent when one does.
	DailyMailAt string `key:"daily_mail_at" default:"06:00" form:"time of day"`
	// SMTPServer is host:port of the mail server that takes the mails. They are kept in
	// PostgreSQL until it has. Without it mails are put into mail_dir.
	SMTPServer string `key:"smtp_server" form:"server"`
	// SMTPTLS is how the connection is encrypted: starttls (after a greeting, as on port
	// 587; a server that does not offer it gets nothing), tls (from the first byte, as on
	// port 465), or none.
	SMTPTLS string `key:"smtp_tls" default:"starttls" form:"mail TLS"`
	// SMTPUser and smtp_password sign in at the mail server; without TLS to one on this
	// machine only. Without them there is no authentication.
	SMTPUser string `key:"smtp_user"`
	// SMTPPassword is the password of smtp_user.
	SMTPPassword string `key:"smtp_password" secret:"true"`
	// SMTPCA is a file in PEM form with the certificates of the issuers that the mail server
	// may have, in place of those that the system trusts.
	SMTPCA string `key:"smtp_ca" form:"directory"`
	// SMTPTimeout is how long giving one mail to the mail server may take: 100ms to 30m.
	SMTPTimeout time.Duration `key:"smtp_timeout" default:"2m" min:"100ms" max:"30m"`
	// SMTPRetryDelay is the first pause before a mail is tried again, doubled after each
	// further attempt: 10ms to 1h.
	SMTPRetryDelay time.Duration `key:"smtp_retry_delay" default:"1m" min:"10ms" max:"1h"`
	// SMTPRetryMaxDelay is the longest such pause: 10ms to 24h.
	SMTPRetryMaxDelay time.Duration `key:"smtp_retry_max_delay" default:"1h" min:"10ms" max:"24h"`
	// SMTPGiveUp is how long a mail is tried before it counts as failed: 1s to 8760h.
	SMTPGiveUp time.Duration `key:"smtp_give_up" default:"120h" min:"1s" max:"8760h"`
	// DropDir is the drop folder, shared by all processes of an installation, in which
	// `accession submit --drop` accepts files. Default DATA_DIR/drop.
	DropDir string `key:"drop_dir" form:"directory"`

	// Workers is how many claims a daemon works on in parallel in this process:
	// name=number, such as job-downloading=16,job-processing=2; 0 to 256, 0 = the
	// daemon does not run here. Default 1 to 4, depending on the daemon.
	Workers map[string]int `key:"workers" min:"0" max:"256"`

	// OutboxShards is how many parts the outbox has: 1 to 64, fixed when the tree is
	// created.
	OutboxShards int `key:"outbox_shards" default:"4" min:"1" max:"64"`
	// OutboxGrace is how long relayed events stay in ZooKeeper as a further copy, at most
	// 4,000 nodes of each shard: 0s to 168h. What the log and the tables have both lost is
	// restored from it, see docs/operating.md#the-log-has-lost-its-tail.
	OutboxGrace time.Duration `key:"outbox_grace" default:"24h" min:"0s" max:"168h"`

	// GroupCommit lets concurrent decisions share a write to ZooKeeper: true or
	// false. See docs/operating.md.
	GroupCommit bool `key:"group_commit" default:"true"`
	// RelayHints lets a relay take the events of its own process from memory instead
	// of ZooKeeper: true or false.
	RelayHints bool `key:"relay_hints" default:"true"`

	// HandOver lets a worker keep a job for its next state without a new claim: true
	// or false.
	HandOver bool `key:"hand_over" default:"true"`

	// OutboxWarn is how many nodes of the outbox may wait for the log before a warning
	// is logged; at OutboxFull deposits are refused, at OutboxStop nothing is claimed
	// or changed until the log accepts events again: 1 to 1000000, each larger than
	// the one before. A node takes some kilobytes of ZooKeeper's memory.
	OutboxWarn int `key:"outbox_warn" default:"5000" min:"1" max:"1000000"`
	OutboxFull int `key:"outbox_full" default:"20000" min:"1" max:"1000000"`
	OutboxStop int `key:"outbox_stop" default:"40000" min:"1" max:"1000000"`
	// QueueLimit is how many jobs may be in one state, and how many batches and queries
	// together in ZooKeeper, before no jobs are created, and deposits and queries are
	// refused; what has ended does not count: 100 to 1000000.
	// Clients with a limit of 1 MiB for an answer, such as those of Java, cannot list
	// more than 52424 children of a node; this program can.
	QueueLimit int `key:"queue_limit" default:"50000" min:"100" max:"1000000"`

	// ZooKeeperHeap is how much memory each ZooKeeper server may use (its -Xmx): bytes,
	// also written 512 MiB or 10 GiB. Deposits are refused when batches, jobs and
	// outbox take half of it, see docs/operating.md#the-heap-of-zookeeper.
	ZooKeeperHeap Bytes `key:"zookeeper_heap" default:"2 GiB"`

	// FetchConnectTimeout is how long connecting to a depositor's server may take:
	// 10ms to 5m.
	FetchConnectTimeout time.Duration `key:"fetch_connect_timeout" default:"10s" min:"10ms" max:"5m"`
	// FetchResponseTimeout is how long the server may take to begin its response:
	// 10ms to 30m. The timeout of a whole file is in its profile.
	FetchResponseTimeout time.Duration `key:"fetch_response_timeout" default:"30s" min:"10ms" max:"30m"`
	// FetchManifestTimeout is how long one request for a manifest may take as a whole:
	// 10ms to 1h.
	FetchManifestTimeout time.Duration `key:"fetch_manifest_timeout" default:"1m" min:"10ms" max:"1h"`
	// FetchHeadTimeout is how long one request for the size of a file may take: 10ms to
	// 5m. Without an answer the size counts as unknown.
	FetchHeadTimeout time.Duration `key:"fetch_head_timeout" default:"10s" min:"10ms" max:"5m"`
	// FetchCallbackTimeout is how long one callback may take: 10ms to 1h.
	FetchCallbackTimeout time.Duration `key:"fetch_callback_timeout" default:"30s" min:"10ms" max:"1h"`
	// FetchBandwidth is how many bytes per second one process takes from all depositors'
	// servers together: bytes, also written 8 MiB or 1 GiB; 0 = as many as come.
	FetchBandwidth Bytes `key:"fetch_bandwidth" default:"0"`
	// CallbackSecrets sign callbacks: on each line the name of a profile, a colon, and 1 to 4
	// secrets, whsec_ and 24 to 64 random bytes in base64. Without one callbacks are not signed.
	CallbackSecrets string `key:"callback_secrets" secret:"true"`
	// MinterCredentials are accounts at the services that make the identifiers of profiles known
	// (EZID, DataCite): on each line the name of a profile, a colon, the user name, a colon, the
	// password. Colons and spaces of a password count.
	MinterCredentials string `key:"minter_credentials" secret:"true"`
	// ServiceCredentials are accounts at the services outside that record for profiles: on each
	// line the name of a profile, a colon, the user name, a colon, the password. Colons and
	// spaces of a password count. A service may ask for none.
	ServiceCredentials string `key:"service_credentials" secret:"true"`
	// S3Endpoint is the URL of the service that has the objects of s3:// URLs; without it AWS
	// has them. A profile opens their buckets (fetch.allow).
	S3Endpoint string `key:"s3_endpoint" form:"service"`
	// S3Region is the region of the buckets: 1 to 64 of a–z, 0–9 and -.
	S3Region string `key:"s3_region" default:"us-east-1" form:"region"`
	// S3AccessKey and s3_secret_key sign the requests for such objects. Without them the
	// requests are not signed, as public buckets allow.
	S3AccessKey string `key:"s3_access_key" form:"access key"`
	// S3SecretKey is the secret of s3_access_key.
	S3SecretKey string `key:"s3_secret_key" secret:"true"`
	// SFTPKey is the file of the private key with which this installation is known to servers of
	// SFTP: without a passphrase, as ssh-keygen writes it. A profile opens their directories
	// (fetch.allow).
	SFTPKey string `key:"sftp_key" form:"directory"`
	// SFTPKnownHosts is the file with the keys of these servers, as ssh-keyscan writes them.
	SFTPKnownHosts string `key:"sftp_known_hosts" form:"directory"`
	// StepTimeout is how long one claim of a job begins requests to depositors' servers:
	// 10ms to 24h. Then the worker is free for others, and the job goes on later.
	StepTimeout time.Duration `key:"step_timeout" default:"5m" min:"10ms" max:"24h"`

	// HostPermits is how many steps of jobs and batches, in all processes, may use one
	// depositor's server at once: 1 to 1000. A step makes up to fetch.parallel requests
	// of its profile at once.
	HostPermits int `key:"host_permits" default:"32" min:"1" max:"1000"`
	// SubmitterPermits is how many steps of jobs and batches, in all processes, may work for
	// one submitter at once: 1 to 1000. Only steps that wait for servers or stores count.
	SubmitterPermits int `key:"submitter_permits" default:"64" min:"1" max:"1000"`

	// QueueAllocation is how many deposits of a user are grabbed from a deposit queue in
	// one visit of round robin: QUEUE=number for every user, QUEUE-USER=number for one,
	// such as metadata=2,query-ana=0. Default 1; 0 = never by round robin. What `accession
	// queue` sets while the service runs wins over this and the next four settings.
	QueueAllocation map[string]int `key:"queue_allocation" min:"0" max:"1000000"`
	// QueueConcurrency is how many deposits of a user run at once, as QueueAllocation.
	// Default 5; 0 = none is ever grabbed.
	QueueConcurrency map[string]int `key:"queue_concurrency" min:"0" max:"1000000"`
	// QueueSynchronous is how many synchronous deposits run at once, of all users
	// together: 0 = none is taken.
	QueueSynchronous int `key:"queue_synchronous" default:"5" min:"0" max:"1000000"`
	// ProhibitedUsers are the users who are served only by processors that require them:
	// a list separated by spaces or commas.
	ProhibitedUsers string `key:"prohibited_users"`
	// Processors are the processors of the deposit queues, separated by spaces: each is
	// QUEUE-NAME?CRITERIA, such as metadata-films?users=ana,ben&max_size=1000000. The
	// criteria are users, exclude_users, preferred, max_size, workers and stopped. Default
	// one for each queue, named default, without criteria.
	Processors string `key:"processors"`

	// SpaceReserve is how much provisioning leaves free on the file system of
	// WorkDir: bytes, also written 512 MiB or 10 GiB.
	SpaceReserve Bytes `key:"space_reserve" default:"1 GiB"`
	// SpaceCycle is how often a job that waits for space is tried again: 10ms to 10m.
	SpaceCycle time.Duration `key:"space_cycle" default:"10s" min:"10ms" max:"10m"`
	// RetryDelay is the first pause before work that failed is retried; it doubles up to
	// a minute, or up to RetryMaxDelay when a depositor's server was the cause: 10ms to 1m.
	RetryDelay time.Duration `key:"retry_delay" default:"1s" min:"10ms" max:"1m"`
	// RetryMaxDelay is the longest pause between two attempts at a depositor's server,
	// also when it asks for a longer one: 10ms to 24h.
	RetryMaxDelay time.Duration `key:"retry_max_delay" default:"10m" min:"10ms" max:"24h"`
	// JanitorInterval is the pause between two passes of the janitor: 100ms to 24h.
	JanitorInterval time.Duration `key:"janitor_interval" default:"1m" min:"100ms" max:"24h"`
	// Retention is how long a completed batch stays in ZooKeeper: 0s to 87600h, 0s =
	// for ever. Its history stays in the log and in PostgreSQL.
	Retention time.Duration `key:"retention" default:"24h" min:"0s" max:"87600h"`
	// FailedRetention is how long a failed batch stays in ZooKeeper, where its jobs can be
	// requeued: 0s to 87600h, 0s = until it is deleted. What is known of a deposit that an
	// operator removed from the drop folder stays as long.
	FailedRetention time.Duration `key:"failed_retention" default:"2160h" min:"0s" max:"87600h"`
	// FilesRetention is how long the working files of a failed job stay, so that a
	// requeue need not fetch them again: 0s to 87600h, 0s = until the job is deleted.
	FilesRetention time.Duration `key:"files_retention" default:"336h" min:"0s" max:"87600h"`
	// OriginalsRetention is how long uploaded files, copies of manifests and payload URLs
	// with a secret stay at least: 0s to 87600h, 0s = for ever; less than a day is a day.
	// They are removed once every batch that is still in ZooKeeper was made after them.
	OriginalsRetention time.Duration `key:"originals_retention" default:"336h" min:"0s" max:"87600h"`

	// SweepInterval is the pause between two passes of the sweeper, which ends overdue
	// attempts: 10ms to 24h.
	SweepInterval time.Duration `key:"sweep_interval" default:"1m" min:"10ms" max:"24h"`
	// ReadyInterval is the pause between two passes of the role ready, which looks at
	// downloaded files without a job: 10ms to 24h.
	ReadyInterval time.Duration `key:"ready_interval" default:"2s" min:"10ms" max:"24h"`
	// DownloadTimeout is how long downloading a file may take before another worker
	// may try, by the clock of the log: 1ms to 168h. It counts until `accession timeouts
	// set` sets one for the installation; the longest of the processes that serve then
	// counts for all. A file of a job may always take as long as fetch.timeout of its
	// profile.
	DownloadTimeout time.Duration `key:"download_timeout" default:"2h" min:"1ms" max:"168h"`
	// ProcessingTimeout is how long processing a file may take, as DownloadTimeout: 1ms
	// to 168h.
	ProcessingTimeout time.Duration `key:"processing_timeout" default:"6h" min:"1ms" max:"168h"`
	// MaxDownloadAttempts is how often the download of a file is tried, before it is given
	// up, whose profile the process does not know: 1 to 20. Others have fetch.attempts of
	// their profile.
	MaxDownloadAttempts int `key:"max_download_attempts" default:"3" min:"1" max:"20"`
	// MaxProcessingAttempts is how often processing a file, also one of a job, is
	// tried before it is given up: 1 to 20.
	MaxProcessingAttempts int `key:"max_processing_attempts" default:"3" min:"1" max:"20"`
	// FileRetryDelay is the time from the first failure of a file of an open
	// directory to its next attempt, doubled after each further one: 0s to 24h.
	FileRetryDelay time.Duration `key:"file_retry_delay" default:"0s" min:"0s" max:"24h"`
	// FileRetryMaxDelay is the most that time can be: 0s to 168h, 0s = no bound.
	FileRetryMaxDelay time.Duration `key:"file_retry_max_delay" default:"1h" min:"0s" max:"168h"`

	// TransferInterval is the pause between two looks into the drop folder: 10ms to 1h.
	TransferInterval time.Duration `key:"transfer_interval" default:"1s" min:"10ms" max:"1h"`
	// AuditInterval is the pause between two passes of the auditor, which reads all
	// stored objects and compares them: 0s to 87600h, 0s = no passes. The first pass
	// begins an interval after the first start.
	AuditInterval time.Duration `key:"audit_interval" default:"168h" min:"0s" max:"87600h"`
	// AuditRate is how many bytes the auditor reads per second: bytes, also written 8 MiB
	// or 1 GiB; 0 = as fast as it goes.
	AuditRate Bytes `key:"audit_rate" default:"8 MiB"`

	// StopGrace is how long running steps may go on after a stop was requested: 0s to
	// 1h. Then they are cancelled and their jobs released.
	StopGrace time.Duration `key:"stop_grace" default:"20s" min:"0s" max:"1h"`

	// Server is the https:// URL of a service over HTTP, which the commands then ask in place
	// of ZooKeeper, NATS and PostgreSQL; http:// only on this machine. See docs/cli.md.
	Server string `key:"server" form:"service"`
	// ListenOps is host:port of the operators' listener for health, metrics and
	// version; port 0 = any; off = none. It has no authentication: bind it to an
	// address that only operators can reach.
	ListenOps string `key:"listen_ops" default:"127.0.0.1:9477" form:"listener"`
	// OpsPprof serves profiles of the process on ListenOps, below /debug/pprof/.
	OpsPprof bool `key:"ops_pprof" default:"false"`
	// ListenHTTP is host:port where the role http answers people and programs; port 0 = any.
	ListenHTTP string `key:"listen_http" default:"127.0.0.1:9480" form:"listener"`
	// HTTPCertificate and HTTPKey are files in PEM form: the certificate, with those of its
	// issuers behind it, and its key. They are read again when they change. Without them
	// there is no TLS: a proxy in front must have it.
	HTTPCertificate string `key:"http_certificate" form:"directory"`
	HTTPKey         string `key:"http_key" form:"directory"`
	// HTTPProxies are the networks of the proxies in front: where a request comes from is
	// the last address in the header of http_proxy_header that is none of theirs. Without it
	// no such header is looked at.
	HTTPProxies string `key:"http_proxies" form:"networks"`
	// HTTPProxyHeader is the header in which the proxies in front write where a request comes
	// from: x-forwarded-for, or forwarded (RFC 7239). The other one, which they may hand on as
	// a client wrote it, is not looked at.
	HTTPProxyHeader string `key:"http_proxy_header" default:"x-forwarded-for" form:"proxy header"`
	// PublicURL is the https:// URL by which browsers reach the role http, through the proxy in
	// front if there is one, without a path; http:// only on this machine. Sign-ins by OpenID
	// Connect come back there.
	PublicURL string `key:"public_url" form:"public URL"`
	// OpenIDIssuer is the https:// URL of an OpenID Connect provider, as it writes itself; http://
	// only on this machine. With it people may sign in there for the console, as the users that
	// `accession user set` has bound to them; see docs/operating.md. It needs public_url.
	OpenIDIssuer string `key:"openid_issuer" form:"issuer"`
	// OpenIDClient and openid_secret are the account of this installation at the provider.
	OpenIDClient string `key:"openid_client"`
	// OpenIDSecret is the secret of openid_client.
	OpenIDSecret string `key:"openid_secret" secret:"true"`
	// OpenIDScopes are what the provider is asked for, separated by spaces: openid, and what it
	// needs besides.
	OpenIDScopes string `key:"openid_scopes" default:"openid" form:"scopes"`
	// UploadLimit is the size of the largest file that is taken over HTTP: bytes, also
	// written 512 MiB or 10 GiB.
	UploadLimit Bytes `key:"upload_limit" default:"10 GiB"`
	// WaitingLimit is how many deposits of a user may wait before further ones over HTTP are
	// refused: 1 to 1000000.
	WaitingLimit int `key:"waiting_limit" default:"10000" min:"1" max:"1000000"`
	// FormsProfile is the profile of metadata files that come by the forms of /servlet/deposit
	// and /v2/deposits, which name none. Without it that is the only profile that takes
	// metadata files and with which the user may deposit.
	FormsProfile string `key:"forms_profile"`
	// ReadyMaxLag is how far the tables may be behind the log before /readyz reports
	// this process as not ready: 1s to 24h.
	ReadyMaxLag time.Duration `key:"ready_max_lag" default:"5m" min:"1s" max:"24h"`

	// LogFormat is json, text, or auto: text on a terminal, else json.
	LogFormat string `key:"log_format" default:"auto" form:"log format"`
	// LogLevel is debug, info, warn or error. PUT /loglevel changes it while a
	// process serves.
	LogLevel string `key:"log_level" default:"info" form:"log level"`
}
