package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// form is how a setting is written.
type form struct {
	what   string            // such as: a whole number
	remedy string            // what to write
	ok     func(string) bool // checks a text, or each of a list; nil = any
}

// forms are the forms by the tag of a field or else by its type.
var forms = map[string]form{
	"int":            {what: "a whole number", remedy: "write a whole number"},
	"bool":           {what: "true or false", remedy: "write true or false"},
	"time.Duration":  {what: "a duration", remedy: "write a duration with its unit, such as 500ms, 10s or 1h30m"},
	"config.Bytes":   {what: "a size", remedy: "write a number of bytes, such as 1048576 or 10 GiB"},
	"map[string]int": {what: "a list of name=number", remedy: "write name=number, several separated by commas"},

	"instance": {"a valid instance name", "use 1 to 64 of a–z, 0–9 and -, the first a letter", matches(`^[a-z][a-z0-9-]{0,63}$`)},
	"stream":   {"a valid stream name", "use 1 to 64 of A–Z, a–z, 0–9, _ and -", matches(`^[A-Za-z0-9_-]{1,64}$`)},
	"prefix":   {"a valid subject prefix", "use words of a–z, 0–9, _ and -, separated by dots", matches(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)},
	"root":     {"a valid node path", "write a path such as /accession", matches(`^(/[A-Za-z0-9_.-]+)+$`)},
	"nats": {"a nats URL", "write nats://host:port, several separated by commas, without parameters", func(s string) bool {
		u, err := url.Parse(s)
		return isURL("nats", "tls")(s) && err == nil && u.Path == "" && u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
	}},
	"postgres": {"a postgres URL", "write postgres://host:port/database, with / # @ : ? in a password as %2F %23 %40 %3A %3F", isURL("postgres", "postgresql")},
	"address":  {"a mail address", "write user@host without a name", isAddress},
	"addresses": {"a list of mail addresses", "write user@host without names, several separated by commas", func(s string) bool {
		return !slices.ContainsFunc(Addresses(s), func(one string) bool { return !isAddress(one) })
	}},
	"time of day": {"a time of day", "write it as hours and minutes, such as 06:00", func(s string) bool { _, err := TimeOfDay(s); return err == nil }},
	"region":      {"the name of a region", "use 1 to 64 of a–z, 0–9 and -", matches(`^[a-z0-9-]{1,64}$`)},
	"access key":  {"an access key", "write it as the service shows it: 1 to 128 letters, digits, _ and -", matches(`^[A-Za-z0-9_-]{1,128}$`)},
	"directory":   {"an absolute path", "write an absolute path", filepath.IsAbs},
	"networks": {"a list of networks", "write for example 10.0.0.0/8, several separated by commas", func(s string) bool {
		_, err := Networks(s)
		return err == nil
	}},
	"service": {"the URL of a service", "write https://host or https://host:port", func(s string) bool {
		u, err := url.Parse(s)
		return isURL("http", "https")(s) && err == nil && u.User == nil
	}},
	"public URL": {"the URL by which browsers come", "write https://host or https://host:port, without a path; http:// only for this machine", func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && protected(u) && u.Path == ""
	}},
	"issuer": {"the URL of an OpenID Connect provider", "write it as its configuration has it (issuer): https://host/path; http:// only for this machine", func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && protected(u)
	}},
	"scopes": {"a list of scopes", "write openid, and others behind it, separated by spaces", func(s string) bool {
		return slices.Contains(strings.Fields(s), "openid") && matches(`^[!#-\[\]-~ ]{1,500}$`)(s)
	}},
	"store": {"an absolute path or the URL of a bucket", "write an absolute path, file:///DIRECTORY or s3://BUCKET/PREFIX", func(s string) bool {
		return filepath.IsAbs(s) || strings.HasPrefix(s, "file:///") || strings.HasPrefix(s, "s3://")
	}},
	"server":       {"host:port", "write for example 127.0.0.1:2181", func(s string) bool { host, port := hostPort(s); return host != "" && port > 0 }},
	"listener":     {"host:port", "write for example 127.0.0.1:9477, or " + Off, func(s string) bool { _, port := hostPort(s); return s == Off || port >= 0 }},
	"mail TLS":     oneOf("starttls", "tls", "none"),
	"proxy header": oneOf(ProxyHeader, ProxyForwarded),
	"log format":   oneOf("auto", "json", "text"),
	"log level":    oneOf("debug", "info", "warn", "error"),
}

// What http_proxy_header may be.
const (
	ProxyHeader    = "x-forwarded-for"
	ProxyForwarded = "forwarded"
)

func formOf(f reflect.StructField) form { return forms[cmp.Or(f.Tag.Get("form"), f.Type.String())] }

func matches(pattern string) func(string) bool { return regexp.MustCompile(pattern).MatchString }

func oneOf(words ...string) form {
	list := strings.Join(words, ", ")
	return form{"one of " + list, "choose " + list, func(s string) bool { return slices.Contains(words, s) }}
}

func isURL(schemes ...string) func(string) bool {
	return func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && slices.Contains(schemes, u.Scheme) && (u.Host != "" || u.Query().Get("host") != "") &&
			!strings.Contains(u.Path, "@") && u.Fragment == "" // of a password with / or #, which must be escaped
	}
}

// protected reports whether a URL is one without a user, query and fragment, and what is sent to it
// protected on its way: by TLS, or because it does not leave this machine.
func protected(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	own := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	return u.Host != "" && u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && (u.Scheme == "https" || u.Scheme == "http" && own)
}

// hostPort returns the parts of host:port; port is -1 when s is something else.
func hostPort(s string) (host string, port int) {
	host, text, err := net.SplitHostPort(s)
	n, numErr := strconv.ParseUint(text, 10, 16)
	if err != nil || numErr != nil {
		return "", -1
	}
	return host, int(n)
}

// decode sets a field from a raw value: the text of a flag or variable, or what YAML
// made of it. It returns what is wrong with the value, "" = nothing, and the remedy.
func (s setting) decode(field reflect.Value, raw any) (problem, remedy string) {
	text, ok := textOf(raw, field.Kind())
	if !ok || parse(field.Addr().Interface(), text) != nil {
		return fmt.Sprintf("%q is not %s", show(fmt.Sprint(raw), s.secret), s.form.what), s.form.remedy
	}
	list := []string{text}
	if field.Kind() == reflect.Slice {
		if list = items(text); len(list) == 0 {
			return "no server is named", s.form.remedy
		}
	}
	for _, item := range list {
		if s.form.ok != nil && item != s.preset && !s.form.ok(item) {
			return fmt.Sprintf("%q is not %s", show(item, s.secret), s.form.what), s.form.remedy
		}
	}
	if s.max != "" && !s.within(field) {
		return show(field.Interface(), s.secret) + " is out of bounds", fmt.Sprintf("choose from %s to %s", s.min, s.max)
	}
	return "", ""
}

// within reports whether a number, or each of a map, is within the bounds.
func (s setting) within(v reflect.Value) bool {
	if v.Kind() == reflect.Map {
		for _, n := range v.Seq2() {
			if !s.within(n) {
				return false
			}
		}
		return true
	}
	from, to := reflect.New(v.Type()), reflect.New(v.Type())
	if err := errors.Join(parse(from.Interface(), s.min), parse(to.Interface(), s.max)); err != nil {
		panic("the bounds of the setting " + s.key + ": " + err.Error())
	}
	return from.Elem().Int() <= v.Int() && v.Int() <= to.Elem().Int()
}

// textOf returns a raw value as the text of a flag; lists and maps are text for
// settings of that kind only.
func textOf(raw any, kind reflect.Kind) (text string, ok bool) {
	var parts []string
	add := func(prefix string, item any) {
		s, single := textOf(item, reflect.String)
		parts, ok = append(parts, prefix+s), ok && single
	}
	switch v := raw.(type) {
	case nil:
		return "", true
	case string:
		return strings.TrimSpace(v), true
	case int, int64, uint64, float64, bool:
		return fmt.Sprint(v), true
	case []any:
		ok = kind == reflect.Slice
		for _, item := range v {
			add("", item)
		}
	case map[string]any:
		ok = kind == reflect.Map
		for name, item := range v {
			add(name+"=", item)
		}
	}
	return strings.Join(parts, ","), ok
}

// parse sets the field that into points to from its text.
func parse(into any, s string) (err error) {
	switch into := into.(type) {
	case *string:
		*into = s
	case *int:
		*into, err = strconv.Atoi(s)
	case *bool:
		*into, err = strconv.ParseBool(s)
	case *time.Duration:
		*into, err = time.ParseDuration(s)
	case *Bytes:
		*into, err = parseBytes(s)
	case *[]string:
		*into = items(s)
	case *map[string]int:
		*into = map[string]int{}
		for _, item := range items(s) {
			name, number, _ := strings.Cut(item, "=")
			n, err := strconv.Atoi(strings.TrimSpace(number))
			if err != nil {
				return err
			}
			(*into)[strings.TrimSpace(name)] = n
		}
	}
	return err
}

var isAddress = matches(`^[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@[A-Za-z0-9.-]{1,189}$`)

// Addresses reads a list of mail addresses.
func Addresses(s string) []string { return items(s) }

// TimeOfDay reads hours and minutes as the time after midnight.
func TimeOfDay(s string) (time.Duration, error) {
	at, err := time.Parse("15:04", s)
	return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute, err
}

// Networks reads a list of networks.
func Networks(s string) (all []netip.Prefix, err error) {
	for _, item := range items(s) {
		p, err := netip.ParsePrefix(item)
		if err != nil {
			return nil, err
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

// items splits a list at its commas.
func items(s string) (list []string) {
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// Bytes is a number of bytes, written as a plain number or with the unit KiB,
// MiB, GiB or TiB.
type Bytes int64

var units = []struct {
	name string
	size Bytes
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// String returns the number in the largest unit that divides it.
func (b Bytes) String() string {
	for _, u := range units {
		if b >= u.size && b%u.size == 0 {
			return fmt.Sprintf("%d %s", b/u.size, u.name)
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// Set implements pflag.Value.
func (b *Bytes) Set(s string) (err error) {
	*b, err = parseBytes(s)
	return err
}

// Type implements pflag.Value.
func (*Bytes) Type() string { return "size" }

func parseBytes(s string) (Bytes, error) {
	number, unit := strings.TrimSpace(s), Bytes(1)
	for _, u := range units {
		if n, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(n), u.size
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/int64(unit) {
		return 0, fmt.Errorf("%q is not a size", s)
	}
	return Bytes(n) * unit, nil
}
