package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/knadh/koanf/v2"
	"go.yaml.in/yaml/v3"
)

// EnvPrefix begins the variables that are settings.
const EnvPrefix = "ACCESSION_"

// Sources are what the settings are read from. The zero value gives the defaults.
type Sources struct {
	File    string            // YAML file; "" = the one that ACCESSION_CONFIG names, or none
	Environ []string          // NAME=value, as os.Environ gives them
	Flags   map[string]string // by key
}

// Resolved is the settings that hold and where each came from.
type Resolved struct {
	Config
	origins map[string]string
}

// layer is one source as koanf reads it: values by key.
type layer map[string]any

func (l layer) Read() (map[string]any, error) { return l, nil }
func (layer) ReadBytes() ([]byte, error)      { return nil, errors.New("not a file") }

// setting is one field of Config.
type setting struct {
	key, env, preset string
	secret           bool
	index            int
	typ              reflect.Type
}

// settings are the fields of Config, in their order.
var settings = func() []setting {
	t := reflect.TypeFor[Config]()
	all := make([]setting, t.NumField())
	for i := range all {
		f := t.Field(i)
		key := f.Tag.Get("key")
		all[i] = setting{key: key, env: EnvPrefix + strings.ToUpper(key), preset: f.Tag.Get("default"),
			secret: f.Tag.Get("secret") == "true", index: i, typ: f.Type}
	}
	return all
}()

// Load reads and checks the settings. The error is [Faults] with all that is
// wrong; the settings then hold what could be read.
func Load(src Sources) (Resolved, error) {
	res := Resolved{origins: map[string]string{}}
	k := koanf.New(".")
	var faults Faults
	add := func(values layer, origin func(key string) string) {
		for key := range values {
			res.origins[key] = origin(key)
		}
		if err := k.Load(values, nil); err != nil {
			faults = append(faults, Fault{Problem: err.Error()})
		}
	}
	presets := layer{}
	for _, s := range settings {
		presets[s.key] = s.preset
	}
	add(presets, func(string) string { return "default" })

	env, envOrigins, envFaults := fromEnviron(src.Environ)
	file := src.File
	if file == "" {
		file = lookup(src.Environ, EnvPrefix+"CONFIG")
	}
	if file != "" {
		values, fileFaults := fromFile(file)
		faults = append(faults, fileFaults...)
		add(values, func(string) string { return "file " + file })
	}
	faults = append(faults, envFaults...)
	add(env, func(key string) string { return "environment " + envOrigins[key] })
	flags := layer{}
	for key, v := range src.Flags {
		if !known(key) {
			faults = append(faults, Fault{Key: key, Origin: "flag", Problem: "there is no such setting", Remedy: "`accession config print` lists all"})
			continue
		}
		flags[key] = v
	}
	add(flags, func(string) string { return "flag" })

	faults = append(faults, res.decode(k)...)
	if len(faults) == 0 {
		res.place()
		faults = append(faults, res.check()...)
	}
	if len(faults) > 0 {
		return res, faults
	}
	return res, nil
}

func (r *Resolved) decode(k *koanf.Koanf) (faults Faults) {
	into := reflect.ValueOf(&r.Config).Elem()
	for _, s := range settings {
		v, err := decode(k.Get(s.key), s.typ)
		if err != nil {
			faults = append(faults, Fault{Key: s.key, Origin: r.origins[s.key], Problem: err.Error(), Remedy: forms[s.typ]})
			continue
		}
		into.Field(s.index).Set(v)
	}
	return faults
}

// place gives the directories that were not set their place below the data
// directory.
func (r *Resolved) place() {
	for name, dir := range map[string]*string{"store": &r.Store, "work": &r.WorkDir, "profiles": &r.ProfilesDir, "mail": &r.MailDir} {
		if *dir == "" {
			*dir = filepath.Join(r.DataDir, name)
		}
	}
}

func known(key string) bool {
	for _, s := range settings {
		if s.key == key {
			return true
		}
	}
	return false
}

func fromFile(path string) (layer, Faults) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Faults{{Origin: "file " + path, Problem: err.Error(), Remedy: "name a file that is there with --config or ACCESSION_CONFIG"}}
	}
	defer f.Close()
	values := map[string]any{}
	dec := yaml.NewDecoder(io.LimitReader(f, 1<<20))
	if err := dec.Decode(&values); err != nil && !errors.Is(err, io.EOF) {
		return nil, Faults{{Origin: "file " + path, Problem: err.Error(), Remedy: "write one `key: value` a line"}}
	}
	var faults Faults
	for key := range values {
		if !known(key) {
			faults = append(faults, Fault{Key: key, Origin: "file " + path, Problem: "there is no such setting", Remedy: "`accession config print` lists all"})
			delete(values, key)
		}
	}
	return values, sorted(faults)
}

func fromEnviron(environ []string) (values layer, origins map[string]string, faults Faults) {
	values, origins = layer{}, map[string]string{}
	for _, s := range settings {
		value, path := lookup(environ, s.env), ""
		if s.secret {
			path = lookup(environ, s.env+"_FILE")
		}
		switch {
		case value != "" && path != "":
			faults = append(faults, Fault{Key: s.key, Origin: "environment", Problem: "both " + s.env + " and " + s.env + "_FILE are set", Remedy: "unset one of them"})
		case value != "":
			values[s.key], origins[s.key] = value, s.env
		case path != "":
			data, err := os.ReadFile(path)
			if err != nil {
				faults = append(faults, Fault{Key: s.key, Origin: "environment " + s.env + "_FILE", Problem: err.Error(), Remedy: "name a file that this process may read"})
				continue
			}
			values[s.key], origins[s.key] = strings.TrimSpace(string(data)), fmt.Sprintf("%s_FILE", s.env)
		}
	}
	return values, origins, faults
}

func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}
