package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/webhook"
)

// EnvPrefix begins the variables that are settings.
const EnvPrefix = "ACCESSION_"

// Sources are what the settings are read from. The zero value has the defaults only.
type Sources struct {
	File    string            // YAML file; "" = the one that ACCESSION_CONFIG names, or none
	Environ []string          // NAME=value, like os.Environ
	Flags   map[string]string // by key
}

// Resolved is the settings and the origin of each.
type Resolved struct {
	Config
	origins map[string]string
}

// setting is one field of Config.
type setting struct {
	key, env, preset string
	min, max         string // bounds, "" = none
	form             form
	secret           bool
	index            int
}

// settings are the fields of Config, in their order.
var settings = func() []setting {
	t := reflect.TypeFor[Config]()
	all := make([]setting, t.NumField())
	for i := range all {
		f := t.Field(i)
		tag := f.Tag.Get
		all[i] = setting{key: tag("key"), env: EnvPrefix + strings.ToUpper(tag("key")), preset: tag("default"),
			min: tag("min"), max: tag("max"), form: formOf(f), secret: tag("secret") == "true", index: i}
	}
	return all
}()

// order returns the position of a setting, -1 when there is none with this key.
func order(key string) int {
	return slices.IndexFunc(settings, func(s setting) bool { return s.key == key })
}

// Load reads and checks the settings. The error is [Faults] with everything that is
// wrong; the settings then hold what could be read.
func Load(src Sources) (Resolved, error) {
	r := Resolved{origins: map[string]string{}}
	path := src.File
	if path == "" {
		path = Lookup(src.Environ, EnvPrefix+"CONFIG")
	}
	file, faults := readFile(path)
	faults = append(faults, unknown(slices.Collect(maps.Keys(src.Flags)), "flag")...)
	fields := reflect.ValueOf(&r.Config).Elem()
	for _, s := range settings {
		value, origin := any(s.preset), "default"
		if v, ok := file[s.key]; ok {
			value, origin = v, "file "+path
		}
		if v, from, fault := s.fromEnviron(src.Environ); fault != nil {
			faults = append(faults, *fault)
		} else if from != "" {
			value, origin = v, from
		}
		if v, ok := src.Flags[s.key]; ok {
			value, origin = v, "flag"
		}
		r.origins[s.key] = origin
		if problem, remedy := s.decode(fields.Field(s.index), value); problem != "" {
			faults = append(faults, Fault{s.key, origin, problem, remedy})
		}
	}
	if len(faults) == 0 {
		r.setDirs()
		faults = r.crossCheck()
	}
	if len(faults) > 0 {
		slices.SortStableFunc(faults, func(a, b Fault) int { return order(a.Key) - order(b.Key) })
		return r, faults
	}
	return r, nil
}

// setDirs sets the directories that were not set, below the data directory.
func (r *Resolved) setDirs() {
	for name, dir := range map[string]*string{"store": &r.Store, "work": &r.WorkDir, "profiles": &r.ProfilesDir, "mail": &r.MailDir, "drop": &r.DropDir} {
		if *dir == "" {
			*dir = filepath.Join(r.DataDir, name)
		}
	}
}

// daemons are the names that workers may have.
var daemons = []string{
	domain.DaemonBatchPending, domain.DaemonBatchReporting, domain.DaemonBatchUpdateReporting,
	domain.DaemonJobPending, domain.DaemonJobEstimating, domain.DaemonJobProvisioning, domain.DaemonJobDownloading,
	domain.DaemonJobProcessing, domain.DaemonJobRecording, domain.DaemonJobNotify, domain.DaemonJanitor,
}

// crossCheck returns the faults of settings that depend on others or on the program.
func (r *Resolved) crossCheck() (faults Faults) {
	for _, name := range slices.Sorted(maps.Keys(r.Workers)) {
		if !slices.Contains(daemons, name) {
			faults = append(faults, Fault{"workers", r.origins["workers"], fmt.Sprintf("there is no daemon %q", name), "choose " + strings.Join(daemons, ", ")})
		}
	}
	_, wrong := r.depositQueues()
	for _, f := range wrong {
		faults = append(faults, Fault{f.key, r.origins[f.key], strings.ReplaceAll(f.Error(), "\n", "; "), "`accession config print --help` shows the form"})
	}
	if r.OutboxWarn >= r.OutboxFull || r.OutboxFull >= r.OutboxStop {
		faults = append(faults, Fault{"outbox_full", r.origins["outbox_full"],
			fmt.Sprintf("%d is not between outbox_warn, %d, and outbox_stop, %d", r.OutboxFull, r.OutboxWarn, r.OutboxStop), "make each larger than the one before"})
	}
	if _, err := webhook.ParseSecrets(r.CallbackSecrets); err != nil {
		faults = append(faults, Fault{"callback_secrets", r.origins["callback_secrets"], strings.ReplaceAll(err.Error(), "\n", "; "), "docs/callbacks.md shows the form"})
	}
	if _, err := parseAccounts(r.MinterCredentials); err != nil {
		faults = append(faults, Fault{"minter_credentials", r.origins["minter_credentials"], strings.ReplaceAll(err.Error(), "\n", "; "), "docs/identifiers.md shows the form"})
	}
	if _, err := parseAccounts(r.ServiceCredentials); err != nil {
		faults = append(faults, Fault{"service_credentials", r.origins["service_credentials"], strings.ReplaceAll(err.Error(), "\n", "; "), "docs/services.md shows the form"})
	}
	if (r.S3AccessKey == "") != (r.S3SecretKey == "") {
		faults = append(faults, Fault{"s3_secret_key", cmp.Or(r.origins["s3_secret_key"], r.origins["s3_access_key"]), "s3_access_key and s3_secret_key belong together", "set both or neither"})
	}
	if (r.SFTPKey == "") != (r.SFTPKnownHosts == "") {
		faults = append(faults, Fault{"sftp_known_hosts", cmp.Or(r.origins["sftp_known_hosts"], r.origins["sftp_key"]), "sftp_key and sftp_known_hosts belong together", "set both or neither"})
	}
	if (r.SMTPUser == "") != (r.SMTPPassword == "") {
		faults = append(faults, Fault{"smtp_password", cmp.Or(r.origins["smtp_password"], r.origins["smtp_user"]), "smtp_user and smtp_password belong together", "set both or neither"})
	}
	if r.SMTPUser != "" && r.SMTPTLS == "none" && !loopback(r.SMTPServer) {
		faults = append(faults, Fault{"smtp_tls", r.origins["smtp_tls"], "a password would be sent in the clear", "choose starttls or tls"})
	}
	if missing := r.lacksOfOpenID(); missing != "" {
		faults = append(faults, Fault{missing, r.origins[missing], "openid_issuer, openid_client, openid_secret and public_url belong together", "set all of them, or none that begins with openid_"})
	}
	if r.DailyMail != "" && r.MailFrom == "" {
		faults = append(faults, Fault{"daily_mail", r.origins["daily_mail"], "there is no address to send from", "set mail_from"})
	}
	return faults
}

// lacksOfOpenID returns the first setting that OpenID Connect lacks, "" = none, or it is not used.
func (r *Resolved) lacksOfOpenID() string {
	if r.OpenIDIssuer == "" && r.OpenIDClient == "" && r.OpenIDSecret == "" {
		return ""
	}
	for _, s := range []struct{ key, value string }{{"openid_issuer", r.OpenIDIssuer}, {"openid_client", r.OpenIDClient}, {"openid_secret", r.OpenIDSecret}, {"public_url", r.PublicURL}} {
		if s.value == "" {
			return s.key
		}
	}
	return ""
}

// loopback reports whether host:port is on this machine.
func loopback(server string) bool {
	host, _ := hostPort(server)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// unknown returns a fault for each key without a setting.
func unknown(keys []string, origin string) (faults Faults) {
	slices.Sort(keys)
	for _, key := range keys {
		if order(key) < 0 {
			faults = append(faults, Fault{key, origin, "there is no such setting", "`accession config print` lists all"})
		}
	}
	return faults
}

// readFile returns the values of a YAML file by key; without a path there are none.
func readFile(path string) (values map[string]any, faults Faults) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, Faults{{"", "file " + path, err.Error(), "give an existing file with --config or ACCESSION_CONFIG"}}
	}
	defer f.Close()
	if err := yaml.NewDecoder(io.LimitReader(f, 1<<20)).Decode(&values); err != nil && !errors.Is(err, io.EOF) {
		// The error quotes the file, and passwords are in it.
		return nil, Faults{{"", "file " + path, quoted.ReplaceAllString(err.Error(), "…"), "write one `key: value` a line"}}
	}
	return values, unknown(slices.Collect(maps.Keys(values)), "file "+path)
}

// quoted matches what YAML's errors quote.
var quoted = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|'[^']*'")

// fromEnviron returns the value of a setting in the environment, or in the file that
// its variable with _FILE names, and its origin, "" when it is not set.
func (s setting) fromEnviron(environ []string) (value, origin string, fault *Fault) {
	value, path := Lookup(environ, s.env), ""
	if s.secret {
		path = Lookup(environ, s.env+"_FILE")
	}
	switch {
	case value != "" && path != "":
		return "", "", &Fault{s.key, "environment", "both " + s.env + " and " + s.env + "_FILE are set", "unset one of them"}
	case value != "":
		return value, "environment " + s.env, nil
	case path == "":
		return "", "", nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", "", &Fault{s.key, "environment " + s.env + "_FILE", err.Error(), "give a file that this process may read"}
	}
	return strings.TrimSpace(string(data)), "environment " + s.env + "_FILE", nil
}

// Lookup returns a variable of an environment, "" when it is not set. The last one
// counts.
func Lookup(environ []string, name string) string {
	for _, v := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// SecretsOfCallbacks returns the secrets of profiles that sign callbacks.
func (c Config) SecretsOfCallbacks() map[string][]webhook.Secret {
	all, _ := webhook.ParseSecrets(c.CallbackSecrets) // Load has checked them
	return all
}
