package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultsAreSound(t *testing.T) {
	t.Parallel()
	got, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Store != "/var/lib/accession/store" || got.SpaceReserve != 1<<30 || got.ZooKeeperSessionTimeout != 10*time.Second {
		t.Errorf("defaults: %+v", got.Config)
	}
	for _, r := range got.Rows() {
		if r.Name == "" || r.Origin != "default" || r.Value == "" && !slices.Contains([]string{"workers", "mail_from", "daily_mail", "queue_allocation", "queue_concurrency", "prohibited_users", "processors", "http_certificate", "http_key", "http_proxies", "server", "forms_profile", "s3_endpoint", "s3_access_key", "s3_secret_key", "sftp_key", "sftp_known_hosts", "smtp_server", "smtp_user", "smtp_password", "smtp_ca", "callback_secrets", "minter_credentials", "service_credentials", "public_url", "openid_issuer", "openid_client", "openid_secret"}, r.Name) {
			t.Errorf("row %+v", r)
		}
	}
}

func TestFlagsGoOverEnvironmentOverFileOverDefaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, dir, "accession.yaml", "nats_stream: FILE\nnats_prefix: file\noutbox_shards: 7\nworkers: {job-downloading: 9}\nzookeeper: [a:1, b:2]\n")
	secret := write(t, dir, "postgres", "postgres://u:s3cret@db/x\n")
	got, err := Load(Sources{
		File:    file,
		Environ: []string{"ACCESSION_NATS_PREFIX=env", "ACCESSION_OUTBOX_SHARDS=8", "ACCESSION_POSTGRES_FILE=" + secret, "ACCESSION_TEST_NATS=x", "ACCESSION_SPACE_RESERVE=512 MiB"},
		Flags:   map[string]string{"outbox_shards": "9"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.NATSStream != "FILE" || got.NATSPrefix != "env" || got.OutboxShards != 9 || got.Postgres != "postgres://u:s3cret@db/x" || got.SpaceReserve != 512<<20 {
		t.Errorf("got %+v", got.Config)
	}
	if got.Workers["job-downloading"] != 9 || cmp.Diff(got.ZooKeeper, []string{"a:1", "b:2"}) != "" {
		t.Errorf("got %+v", got.Config)
	}
	origins := map[string]string{}
	for _, r := range got.Rows() {
		origins[r.Name] = r.Origin
		if strings.Contains(r.Value, "s3cret") {
			t.Errorf("%s shows a password: %s", r.Name, r.Value)
		}
	}
	want := map[string]string{"nats_stream": "file " + file, "nats_prefix": "environment ACCESSION_NATS_PREFIX", "outbox_shards": "flag", "postgres": "environment ACCESSION_POSTGRES_FILE", "nats": "default"}
	for key, origin := range want {
		if origins[key] != origin {
			t.Errorf("%s comes from %q, want %q", key, origins[key], origin)
		}
	}
}

func TestTheFileCanBeNamedByTheEnvironment(t *testing.T) {
	t.Parallel()
	file := write(t, t.TempDir(), "a.yaml", "instance: north\n")
	got, err := Load(Sources{Environ: []string{"ACCESSION_CONFIG=" + file}})
	if err != nil || got.Instance != "north" {
		t.Errorf("instance %q, error %v", got.Instance, err)
	}
}

// TestEveryFaultIsNamed has a case for each check; the first column is what the
// error must say.
func TestEveryFaultIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flag := func(kv ...string) Sources {
		m := map[string]string{}
		for _, s := range kv {
			k, v, _ := strings.Cut(s, "=")
			m[k] = v
		}
		return Sources{Flags: m}
	}
	env := func(v ...string) Sources { return Sources{Environ: v} }
	for want, src := range map[string]Sources{
		`instance (flag): "North" is not a valid instance name; use 1 to 64`:                                                                        flag("instance=North"),
		`zookeeper (flag): no server is named`:                                                                                                      flag("zookeeper= , "),
		`zookeeper (flag): "b" is not host:port`:                                                                                                    flag("zookeeper=a:1,b"),
		`zookeeper (flag): "b:0" is not host:port`:                                                                                                  flag("zookeeper=b:0"),
		`zookeeper_root (flag): "accession" is not a valid node path; write a path`:                                                                 flag("zookeeper_root=accession"),
		`zookeeper_session_timeout (flag): 10ms is out of bounds; choose from 1s to 1m`:                                                             flag("zookeeper_session_timeout=10ms"),
		`zookeeper_session_timeout (flag): "10" is not a duration; write a duration with its unit`:                                                  flag("zookeeper_session_timeout=10"),
		`nats (flag): no server is named`:                                                                                                           flag("nats="),
		`nats (flag): "http://n" is not a nats URL`:                                                                                                 flag("nats=http://n"),
		`nats (flag): "(hidden: not a URL)" is not a nats URL`:                                                                                      flag("nats=nats://u:p%%%@x"),
		`nats_stream (flag): "a.b" is not a valid stream name`:                                                                                      flag("nats_stream=a.b"),
		`nats_prefix (flag): "a.>" is not a valid subject prefix`:                                                                                   flag("nats_prefix=a.>"),
		`postgres (environment ACCESSION_POSTGRES): "mysql://u:xxxxx@h/d" is not a postgres URL`:                                                    env("ACCESSION_POSTGRES=mysql://u:s3cret@h/d"),
		`postgres_conns (flag): 3 is out of bounds; choose from 4 to 1000`:                                                                          flag("postgres_conns=3"),
		`data_dir (flag): "here" is not an absolute path; write an absolute path`:                                                                   flag("data_dir=here", "store=/s", "work_dir=/w", "profiles_dir=/p", "mail_dir=/m"),
		`work_dir (flag): "w" is not an absolute path`:                                                                                              flag("work_dir=w"),
		`profiles_dir (flag): "p" is not an absolute path`:                                                                                          flag("profiles_dir=p"),
		`mail_dir (flag): "m" is not an absolute path`:                                                                                              flag("mail_dir=m"),
		`store (flag): "(hidden: not a URL)" is not an absolute path or the URL of a bucket`:                                                        flag("store=s"),
		`store (flag): "gs://maps" is not an absolute path or the URL of a bucket; write an absolute path, file:///DIRECTORY or s3://BUCKET/PREFIX`: flag("store=gs://maps"),
		`workers (flag): janitor=999 is out of bounds; choose from 0 to 256`:                                                                        flag("workers=janitor=999"),
		`outbox_shards (flag): "many" is not a whole number; write a whole number`:                                                                  flag("outbox_shards=many"),
		`workers (flag): there is no daemon "x"; choose batch-pending, `:                                                                            flag("workers=x=1"),
		`workers (flag): "janitor" is not a list of name=number; write name=number`:                                                                 flag("workers=janitor"),
		`workers (flag): "janitor=x" is not a list of name=number`:                                                                                  flag("workers=janitor=x"),
		`outbox_shards (flag): 65 is out of bounds`:                                                                                                 flag("outbox_shards=65"),
		`group_commit (flag): "maybe" is not true or false; write true or false`:                                                                    flag("group_commit=maybe"),
		`outbox_grace (flag): -1s is out of bounds`:                                                                                                 flag("outbox_grace=-1s"),
		`space_reserve (flag): "10 GB" is not a size; write a number of bytes`:                                                                      flag("space_reserve=10 GB"),
		`space_reserve (flag): "-1" is not a size`:                                                                                                  flag("space_reserve=-1"),
		`outbox_warn (flag): 0 is out of bounds; choose from 1 to 1000000`:                                                                          flag("outbox_warn=0"),
		`outbox_full (flag): 5000 is not between outbox_warn, 5000, and outbox_stop, 40000; make`:                                                   flag("outbox_full=5000"),
		"s3_access_key and s3_secret_key belong together; set both or neither":                                                                      flag("s3_access_key=AKID"),
		"callback_secrets (flag): line 1: there is no secret: write whsec_ and 24 to 64 random bytes in base64; docs/callbacks.md shows the form":   flag("callback_secrets=maps: s3cret"),
		"minter_credentials (flag): line 1: write the name of a profile, a colon, the user name, a colon, and the password; docs/identifiers.md":    flag("minter_credentials=maps: s3cret"),
		"minter_credentials (flag): line 2: its profile has a line already":                                                                         flag("minter_credentials=maps:a:b\nmaps:a:s3cret"),
		"service_credentials (flag): line 1: write the name of a profile, a colon, the user name, a colon, and the password; docs/services.md":      flag("service_credentials=maps: s3cret"),
		"smtp_user and smtp_password belong together; set both or neither":                                                                          flag("smtp_user=accession"),
		"openid_secret (default): openid_issuer, openid_client, openid_secret and public_url belong together; set all of them":                      flag("openid_issuer=https://login.example.org", "openid_client=accession", "public_url=https://deposit.example.org"),
		"public_url (default): openid_issuer, openid_client, openid_secret and public_url belong together":                                          flag("openid_issuer=https://login.example.org", "openid_client=accession", "openid_secret=s3cret"),
		"openid_issuer (default): openid_issuer, openid_client, openid_secret and public_url belong together":                                       flag("openid_secret=s3cret"),
		`openid_issuer (flag): "http://login.example.org" is not the URL of an OpenID Connect provider; write it as its configuration has it`:       flag("openid_issuer=http://login.example.org"),
		`openid_issuer (flag): "https://login.example.org/?a=b" is not the URL of an OpenID Connect provider`:                                       flag("openid_issuer=https://login.example.org/?a=b"),
		`openid_scopes (flag): "email" is not a list of scopes; write openid`:                                                                       flag("openid_scopes=email"),
		`public_url (flag): "http://deposit.example.org" is not the URL by which browsers come; write https://host`:                                 flag("public_url=http://deposit.example.org"),
		`public_url (flag): "https://deposit.example.org/" is not the URL by which browsers come`:                                                   flag("public_url=https://deposit.example.org/"),
		`public_url (flag): "(hidden: not a URL)" is not the URL by which browsers come`:                                                            flag("public_url=https://me@deposit.example.org"),
		"daily_mail (flag): there is no address to send from; set mail_from":                                                                        flag("daily_mail=ops@example.org"),
		`daily_mail (flag): "ana" is not a list of mail addresses; write user@host without names, several separated by commas`:                      flag("mail_from=a@example.org", "daily_mail=ana"),
		`daily_mail_at (flag): "6 o'clock" is not a time of day; write it as hours and minutes, such as 06:00`:                                      flag("daily_mail_at=6 o'clock"),
		`smtp_tls (flag): a password would be sent in the clear; choose starttls or tls`:                                                            flag("smtp_server=mail.example.org:25", "smtp_user=accession", "smtp_password=s3cret", "smtp_tls=none"),
		`smtp_tls (flag): "ssl" is not one of starttls, tls, none`:                                                                                  flag("smtp_tls=ssl"),
		`outbox_full (default): 20000 is not between outbox_warn, 5000, and outbox_stop, 20000`:                                                     flag("outbox_stop=20000"),
		`queue_limit (flag): 99 is out of bounds; choose from 100`:                                                                                  flag("queue_limit=99"),
		`fetch_connect_timeout (flag): 1ms is out of bounds`:                                                                                        flag("fetch_connect_timeout=1ms"),
		`fetch_response_timeout (flag): 1h0m0s is out of bounds`:                                                                                    flag("fetch_response_timeout=1h"),
		`fetch_manifest_timeout (flag): 2h0m0s is out of bounds`:                                                                                    flag("fetch_manifest_timeout=2h"),
		`fetch_head_timeout (flag): 6m0s is out of bounds`:                                                                                          flag("fetch_head_timeout=6m"),
		`fetch_callback_timeout (flag): 1ms is out of bounds`:                                                                                       flag("fetch_callback_timeout=1ms"),
		`step_timeout (flag): 25h0m0s is out of bounds`:                                                                                             flag("step_timeout=25h"),
		`retry_max_delay (flag): 25h0m0s is out of bounds`:                                                                                          flag("retry_max_delay=25h"),
		`space_cycle (flag): 1ms is out of bounds`:                                                                                                  flag("space_cycle=1ms"),
		`retry_delay (flag): 2m0s is out of bounds`:                                                                                                 flag("retry_delay=2m"),
		`janitor_interval (flag): 1ms is out of bounds`:                                                                                             flag("janitor_interval=1ms"),
		`retention (flag): -1s is out of bounds`:                                                                                                    flag("retention=-1s"),
		`sweep_interval (flag): 1ms is out of bounds`:                                                                                               flag("sweep_interval=1ms"),
		`download_timeout (flag): 0s is out of bounds; choose from 1ms to 168h`:                                                                     flag("download_timeout=0s"),
		`processing_timeout (flag): 169h0m0s is out of bounds`:                                                                                      flag("processing_timeout=169h"),
		`max_download_attempts (flag): 0 is out of bounds; choose from 1 to 20`:                                                                     flag("max_download_attempts=0"),
		`max_processing_attempts (flag): 21 is out of bounds`:                                                                                       flag("max_processing_attempts=21"),
		`file_retry_delay (flag): -1s is out of bounds`:                                                                                             flag("file_retry_delay=-1s"),
		`file_retry_max_delay (flag): 169h0m0s is out of bounds`:                                                                                    flag("file_retry_max_delay=169h"),
		`listen_ops (flag): "9477" is not host:port; write for example 127.0.0.1:9477, or off`:                                                      flag("listen_ops=9477"),
		`listen_ops (flag): ":70000" is not host:port`:                                                                                              flag("listen_ops=:70000"),
		`ops_pprof (flag): "maybe" is not true or false; write true or false`:                                                                       flag("ops_pprof=maybe"),
		`ready_max_lag (flag): 1ms is out of bounds`:                                                                                                flag("ready_max_lag=1ms"),
		`stop_grace (flag): 2h0m0s is out of bounds`:                                                                                                flag("stop_grace=2h"),
		`log_format (flag): "xml" is not one of auto, json, text; choose auto, json, text`:                                                          flag("log_format=xml"),
		`log_level (flag): "loud" is not one of debug, info, warn, error; choose debug, info, warn, error`:                                          flag("log_level=loud"),
		`nat (flag): there is no such setting; ` + "`accession config print`":                                                                       flag("nat=1"),
		`(environment): both ACCESSION_POSTGRES and ACCESSION_POSTGRES_FILE are set; unset one of them`:                                             env("ACCESSION_POSTGRES=postgres://h/d", "ACCESSION_POSTGRES_FILE=/f"),
		`postgres (environment ACCESSION_POSTGRES_FILE): open ` + dir + `/no`:                                                                       env("ACCESSION_POSTGRES_FILE=" + dir + "/no"),
		`(file ` + dir + `/no): open`:                                                                                                               {File: dir + "/no"},
		`(file ` + dir + `/list.yaml): yaml:`:                                                                                                       {File: write(t, dir, "list.yaml", "- a\n")},
		`nats_steam (file ` + dir + `/typo.yaml): there is no such setting`:                                                                         {File: write(t, dir, "typo.yaml", "nats_steam: X\n")},
		`outbox_shards (file ` + dir + `/map.yaml): "map[a:1]" is not a whole number`:                                                               {File: write(t, dir, "map.yaml", "outbox_shards: {a: 1}\n")},
		`zookeeper (file ` + dir + `/deep.yaml): "[[a]]" is not host:port`:                                                                          {File: write(t, dir, "deep.yaml", "zookeeper: [[a]]\n")},
		`nats (file ` + dir + `/secret.yaml): "(hidden: not a URL)" is not a nats URL`:                                                              {File: write(t, dir, "secret.yaml", "nats: {a: 'nats://u:s3cret@h'}\n")},
		`instance (file ` + dir + `/one.yaml): "[a]" is not a valid instance name`:                                                                  {File: write(t, dir, "one.yaml", "instance: [a]\n")},
		`workers (file ` + dir + `/deepmap.yaml): "map[janitor:[1]]" is not a list of name=number`:                                                  {File: write(t, dir, "deepmap.yaml", "workers: {janitor: [1]}\n")},
	} {
		_, err := Load(src)
		var faults Faults
		if !errors.As(err, &faults) || len(faults) != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("want one fault with\n  %s\ngot\n  %v", want, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

func TestAllFaultsAtOnceInTheOrderOfTheSettings(t *testing.T) {
	t.Parallel()
	_, err := Load(Sources{Flags: map[string]string{"outbox_shards": "0", "instance": "X", "log_level": "loud", "nats": "x"}})
	var faults Faults
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	var keys []string
	for _, f := range faults {
		keys = append(keys, f.Key)
	}
	if diff := cmp.Diff([]string{"instance", "nats", "outbox_shards", "log_level"}, keys); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(err.Error(), "faults in the settings: 4\n") {
		t.Error(err)
	}
}

// A setting is shown without its password, and not at all when it is in no known form.
// Shows: P14
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"postgres://me:s3cret@h:5/d?sslmode=disable&password=s3cret": "postgres://me:xxxxx@h:5/d?password=xxxxx&sslmode=disable",
		"postgres://me@h/d":                       "postgres://me@h/d",
		"nats://s3cret@h:4222":                    "nats://xxxxx@h:4222",
		"nats://h:4222":                           "nats://h:4222",
		"s3://bucket?region=eu&secret=s3cret":     "s3://bucket?region=eu&secret=xxxxx",
		"/srv/store":                              "/srv/store",
		"postgres:///d?host=/run/postgresql":      "postgres:///d?host=%2Frun%2Fpostgresql",
		"postgres://h/d#s3cret":                   "postgres://h/d",
		"postgres://u:s3cret%%@h/d":               hidden,
		"postgres://u:12/s3cret@h/d":              hidden,
		"postgres://u:s3 cret@h/d":                hidden,
		"host=h user=u password=s3cret":           hidden,
		"me:s3cret@h":                             hidden,
		"me:s3cret@h:5432/d":                      hidden,
		"postgres:me:s3cret@h":                    hidden,
		"s3cret":                                  hidden,
		"/srv/store?token=s3cret":                 hidden,
		"s3://bucket?endpoint=https://k:s3cret@h": "s3://bucket?endpoint=xxxxx",
	} {
		if got := redactURL(in); got != want {
			t.Errorf("%s is shown as %s, want %s", in, got, want)
		}
	}
}

// TestNoFaultShowsASecret: whatever form a secret setting has, and wherever it was put
// by mistake, no fault and no row shows it.
// Shows: P14
func TestNoFaultShowsASecret(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"host=h user=u password=s3cret", "me:s3cret@h", "me:s3cret@h:1", "postgres://me:s3cret@h/d", "postgres://me:12/s3cret@h/d",
		"nats://s3cret@h:4222", "nats://me:s3cret@h:4222?x=s3cret", "nats://h?token=s3cret", "nats://me:1,s3cret@h", "postgres://h/d?password=s3cret",
		"postgres://me:s3 cret@h/d", "postgres://me:#s3cret@h/d", "s3://bucket?secret=s3cret", "//me:s3cret@h", "PASSWORD = s3cret",
	} {
		for _, s := range settings {
			for name, src := range map[string]Sources{
				"flag":        {Flags: map[string]string{s.key: value}},
				"environment": {Environ: []string{s.env + "=" + value}},
				"file":        {File: write(t, t.TempDir(), "a.yaml", s.key+": "+strconv.Quote(value)+"\n")},
				"nested":      {File: write(t, t.TempDir(), "a.yaml", s.key+": {url: "+strconv.Quote(value)+"}\n")},
				"list":        {File: write(t, t.TempDir(), "a.yaml", s.key+": ["+strconv.Quote(value)+"]\n")},
				"key":         {File: write(t, t.TempDir(), "a.yaml", strconv.Quote(value)+": "+s.key+"\n")},
				"no map":      {File: write(t, t.TempDir(), "a.yaml", strconv.Quote(value)+"\n")},
				"not YAML":    {File: write(t, t.TempDir(), "a.yaml", s.key+": "+value+"\n\tx: 'y\n")},
			} {
				r, err := Load(src)
				seen := fmt.Sprint(r.Rows())
				if err != nil {
					seen += err.Error()
				}
				if strings.Contains(seen, "s3cret") {
					t.Errorf("%s of %s, %q: %s", name, s.key, value, seen)
				}
			}
		}
	}
}

// TestNATSParametersAreRefused: this program would ignore them.
func TestNATSParametersAreRefused(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"nats://h:4222?tls=1", "nats://h:4222/path", "nats://h:4222#x", "nats://h:4222?"} {
		if _, err := Load(Sources{Flags: map[string]string{"nats": url}}); err == nil || !strings.Contains(err.Error(), "without parameters") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestBytesAreWrittenAsTheyAreRead(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"0": "0", "1024": "1 KiB", "1 KiB": "1 KiB", "3MiB": "3 MiB", "1025": "1025", "2 TiB": "2 TiB"} {
		b, err := parseBytes(in)
		if err != nil || b.String() != want {
			t.Errorf("%q: %v, %v; want %s", in, b, err, want)
		}
	}
	if _, err := parseBytes("9999999 TiB"); err == nil {
		t.Error("a size that does not fit was taken")
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
