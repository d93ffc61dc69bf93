package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
)

var (
	instanceName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)
	streamName   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	subjectName  = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)
	rootPath     = regexp.MustCompile(`^(/[A-Za-z0-9_.-]+)+$`)
)

// daemons are the names that workers may hold.
var daemons = []string{
	domain.DaemonBatchPending, domain.DaemonBatchReporting, domain.DaemonBatchUpdateReporting,
	domain.DaemonJobPending, domain.DaemonJobEstimating, domain.DaemonJobProvisioning, domain.DaemonJobDownloading,
	domain.DaemonJobProcessing, domain.DaemonJobRecording, domain.DaemonJobNotify, domain.DaemonJanitor,
}

// checker gathers the faults of decoded settings.
type checker struct {
	origins map[string]string
	faults  Faults
}

func (c *checker) fault(key, problem, remedy string) {
	c.faults = append(c.faults, Fault{Key: key, Origin: c.origins[key], Problem: problem, Remedy: remedy})
}

func (c *checker) matches(key, value string, re *regexp.Regexp, remedy string) {
	if !re.MatchString(value) {
		c.fault(key, fmt.Sprintf("%q is not allowed", value), remedy)
	}
}

func (c *checker) within(key string, value, from, to int) {
	if value < from || value > to {
		c.fault(key, fmt.Sprintf("%d is out of bounds", value), fmt.Sprintf("choose from %d to %d", from, to))
	}
}

func (c *checker) lasts(key string, value, from, to time.Duration) {
	if value < from || value > to {
		c.fault(key, value.String()+" is out of bounds", fmt.Sprintf("choose from %v to %v", from, to))
	}
}

func (c *checker) oneOf(key, value string, of ...string) {
	if !slices.Contains(of, value) {
		c.fault(key, fmt.Sprintf("%q is unknown", value), "choose "+strings.Join(of, ", "))
	}
}

func (c *checker) url(key, value string, schemes ...string) {
	u, err := url.Parse(value)
	remedy := "write " + schemes[0] + "://host:port"
	switch {
	case err != nil: // the error repeats the value, which may hold a password
		c.fault(key, "this is not a URL", remedy)
	case !slices.Contains(schemes, u.Scheme) || u.Host == "" && u.Query().Get("host") == "":
		c.fault(key, fmt.Sprintf("%q is not a %s URL", redactURL(value), schemes[0]), remedy)
	}
}

// address wants host:port to listen at.
func (c *checker) address(key, value string) {
	_, port, err := net.SplitHostPort(value)
	if n, perr := strconv.Atoi(port); err != nil || perr != nil || n < 0 || n > 65535 {
		c.fault(key, fmt.Sprintf("%q is not host:port", value), "write for example 127.0.0.1:9477, or "+Off)
	}
}

func (c *checker) directory(key, value string) {
	if !filepath.IsAbs(value) {
		c.fault(key, fmt.Sprintf("%q depends on where the program is started", value), "write an absolute path")
	}
}

// check names every value that is out of its bounds.
func (r *Resolved) check() Faults {
	c := &checker{origins: r.origins}
	c.matches("instance", r.Instance, instanceName, "use 1 to 64 of a–z, 0–9 and -, the first a letter")
	if len(r.ZooKeeper) == 0 {
		c.fault("zookeeper", "no server is named", "write host:port, several with commas")
	}
	for _, server := range r.ZooKeeper {
		host, port, err := net.SplitHostPort(server)
		if n, perr := strconv.Atoi(port); err != nil || perr != nil || host == "" || n < 1 || n > 65535 {
			c.fault("zookeeper", fmt.Sprintf("%q is not host:port", server), "write for example 127.0.0.1:2181")
		}
	}
	c.matches("zookeeper_root", r.ZooKeeperRoot, rootPath, "write a path such as /accession")
	c.lasts("zookeeper_session_timeout", r.ZooKeeperSessionTimeout, time.Second, time.Minute)
	if len(r.NATS) == 0 {
		c.fault("nats", "no server is named", "write nats://host:port, several with commas")
	}
	for _, server := range r.NATS {
		c.url("nats", server, "nats", "tls")
	}
	c.matches("nats_stream", r.NATSStream, streamName, "use 1 to 64 of A–Z, a–z, 0–9, _ and -")
	c.matches("nats_prefix", r.NATSPrefix, subjectName, "use words of a–z, 0–9, _ and -, with dots between them")
	c.url("postgres", r.Postgres, "postgres", "postgresql")
	c.within("postgres_conns", r.PostgresConns, 4, 1000)
	c.directory("data_dir", r.DataDir)
	c.directory("work_dir", r.WorkDir)
	c.directory("profiles_dir", r.ProfilesDir)
	c.directory("mail_dir", r.MailDir)
	if !strings.Contains(r.Store, "://") {
		c.directory("store", r.Store)
	}
	for _, name := range sortedKeys(r.Workers) {
		if !slices.Contains(daemons, name) {
			c.fault("workers", fmt.Sprintf("there is no daemon %q", name), "choose "+strings.Join(daemons, ", "))
			continue
		}
		c.within("workers", r.Workers[name], 0, 256)
	}
	c.within("outbox_shards", r.OutboxShards, 1, 64)
	c.lasts("outbox_grace", r.OutboxGrace, 0, 10*time.Minute)
	c.within("outbox_warn", r.OutboxWarn, 1, 1_000_000)
	c.within("outbox_full", r.OutboxFull, 1, 1_000_000)
	c.within("outbox_stop", r.OutboxStop, 1, 1_000_000)
	if r.OutboxWarn >= r.OutboxFull || r.OutboxFull >= r.OutboxStop {
		c.fault("outbox_full", fmt.Sprintf("%d does not lie between outbox_warn, %d, and outbox_stop, %d", r.OutboxFull, r.OutboxWarn, r.OutboxStop), "let each be larger than the one before")
	}
	c.within("queue_limit", r.QueueLimit, 100, 1_000_000)
	c.lasts("fetch_connect_timeout", r.FetchConnectTimeout, 10*time.Millisecond, 5*time.Minute)
	c.lasts("fetch_response_timeout", r.FetchResponseTimeout, 10*time.Millisecond, 30*time.Minute)
	c.lasts("space_cycle", r.SpaceCycle, 10*time.Millisecond, 10*time.Minute)
	c.lasts("retry_delay", r.RetryDelay, 10*time.Millisecond, time.Minute)
	c.lasts("janitor_interval", r.JanitorInterval, 100*time.Millisecond, 24*time.Hour)
	c.lasts("retention", r.Retention, 0, 87600*time.Hour)
	c.lasts("sweep_interval", r.SweepInterval, 10*time.Millisecond, 24*time.Hour)
	c.lasts("download_timeout", r.DownloadTimeout, time.Millisecond, 168*time.Hour)
	c.lasts("processing_timeout", r.ProcessingTimeout, time.Millisecond, 168*time.Hour)
	c.within("max_download_attempts", r.MaxDownloadAttempts, 1, 20)
	c.within("max_processing_attempts", r.MaxProcessingAttempts, 1, 20)
	c.lasts("file_retry_delay", r.FileRetryDelay, 0, 24*time.Hour)
	c.lasts("file_retry_max_delay", r.FileRetryMaxDelay, 0, 168*time.Hour)
	c.lasts("stop_grace", r.StopGrace, 0, time.Hour)
	if r.ListenOps != Off {
		c.address("listen_ops", r.ListenOps)
	}
	c.lasts("ready_max_lag", r.ReadyMaxLag, time.Second, 24*time.Hour)
	c.oneOf("log_format", r.LogFormat, "auto", "json", "text")
	c.oneOf("log_level", r.LogLevel, "debug", "info", "warn", "error")
	return c.faults
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func sorted(fs Faults) Faults {
	slices.SortFunc(fs, func(a, b Fault) int { return cmp.Compare(a.Key, b.Key) })
	return fs
}
