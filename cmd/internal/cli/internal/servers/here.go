package servers

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/cmd/internal/stack"
)

// Where the servers of a demonstration and of a stack keep their data, in the directory
// that the command was started in.
const (
	DemoDir  = ".accession/demo"
	StackDir = ".accession/stack"
)

// named are the settings that say which servers are meant.
var named = []string{"zookeeper", "nats", "postgres"}

// Here returns the file of settings of the servers that run in this directory, those of a
// demonstration before those of a stack. It is "" when none run here, and when flags or
// environ say which settings or servers are meant.
func Here(flags map[string]string, environ []string) string {
	if config.Lookup(environ, config.EnvPrefix+"CONFIG") != "" {
		return ""
	}
	for _, key := range named {
		variable := config.EnvPrefix + strings.ToUpper(key)
		if _, is := flags[key]; is || config.Lookup(environ, variable) != "" || config.Lookup(environ, variable+"_FILE") != "" {
			return ""
		}
	}
	dirs, err := filepath.Glob(DemoDir + "*")
	if err != nil {
		return ""
	}
	for _, dir := range append(dirs, StackDir) {
		file := SettingsFile(dir)
		if _, running, err := stack.Find(dir); err != nil || !running { // one that is damaged is reported by what starts it
			continue
		}
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}

// SettingsFile returns where servers whose data is in a directory have their settings.
func SettingsFile(dir string) string { return filepath.Join(dir, "accession.yaml") }

// WriteSettings writes a file of settings, which holds passwords.
func WriteSettings(file string, settings map[string]string) error {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&b, "%s: %q\n", key, settings[key])
	}
	return os.WriteFile(file, []byte(b.String()), 0o600)
}

// Offer writes the files by which other commands find a stack, and returns the variables
// with which they use it, its data directory and the installation that owns it. Passwords
// stay in files.
func Offer(s *stack.Stack) (variables []string, files stack.Files, err error) {
	if files, err = s.WriteFiles(); err != nil {
		return nil, files, err
	}
	at, data := s.Addresses(), filepath.Join(s.Dir(), "accession")
	variables = []string{"ACCESSION_ZOOKEEPER=" + at.ZooKeeper, "ACCESSION_NATS_FILE=" + files.NATS,
		"ACCESSION_POSTGRES_FILE=" + files.Postgres, "ACCESSION_DATA_DIR=" + data}
	settings := map[string]string{"zookeeper": at.ZooKeeper, "nats": at.NATS, "postgres": at.Postgres, "data_dir": data}
	id, err := run.InstallationOf(filepath.Join(data, "work"))
	if id != "" {
		variables = append(variables, "ACCESSION_INSTANCE="+id)
		settings["instance"] = id
	}
	return variables, files, errors.Join(err, WriteSettings(SettingsFile(s.Dir()), settings))
}
