package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Bytes is a number of bytes, written as a plain number or with the unit KiB,
// MiB, GiB or TiB.
type Bytes int64

var units = []struct {
	name string
	size Bytes
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// String gives the largest unit that divides it.
func (b Bytes) String() string {
	for _, u := range units {
		if b >= u.size && b%u.size == 0 {
			return fmt.Sprintf("%d %s", b/u.size, u.name)
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

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
		return 0, fmt.Errorf("%q is no size", s)
	}
	return Bytes(n) * unit, nil
}

// forms says, for each kind of setting, how one is written.
var forms = map[reflect.Type]string{
	reflect.TypeFor[int]():            "write a whole number",
	reflect.TypeFor[bool]():           "write true or false",
	reflect.TypeFor[time.Duration]():  "write a duration with its unit, such as 500ms, 10s or 1h30m",
	reflect.TypeFor[Bytes]():          "write a number of bytes, such as 1048576 or 10 GiB",
	reflect.TypeFor[[]string]():       "write one value, or several with commas between them",
	reflect.TypeFor[map[string]int](): "write name=number, several with commas between them",
}

// decode turns a raw value (text of a flag or variable, or what YAML made of it)
// into the type of a setting.
func decode(raw any, t reflect.Type) (v reflect.Value, err error) {
	switch t {
	case reflect.TypeFor[map[string]int]():
		m, err := decodeNumbers(raw)
		return reflect.ValueOf(m), err
	case reflect.TypeFor[[]string]():
		l, err := decodeList(raw)
		return reflect.ValueOf(l), err
	}
	s, ok := scalar(raw)
	if !ok {
		return v, fmt.Errorf("%v is not a single value", raw)
	}
	switch t {
	case reflect.TypeFor[int]():
		n, err := strconv.Atoi(s)
		if err != nil {
			return v, fmt.Errorf("%q is not a whole number", s)
		}
		return reflect.ValueOf(n), nil
	case reflect.TypeFor[bool]():
		b, err := strconv.ParseBool(s)
		if err != nil {
			return v, fmt.Errorf("%q is neither true nor false", s)
		}
		return reflect.ValueOf(b), nil
	case reflect.TypeFor[time.Duration]():
		d, err := time.ParseDuration(s)
		if err != nil {
			return v, fmt.Errorf("%q is not a duration", s)
		}
		return reflect.ValueOf(d), nil
	case reflect.TypeFor[Bytes]():
		b, err := parseBytes(s)
		return reflect.ValueOf(b), err
	default:
		return reflect.ValueOf(s), nil
	}
}

func scalar(raw any) (string, bool) {
	switch v := raw.(type) {
	case string:
		return strings.TrimSpace(v), true
	case int, int64, uint64, float64, bool:
		return fmt.Sprint(v), true
	case nil:
		return "", true
	default:
		return "", false
	}
}

func decodeList(raw any) ([]string, error) {
	if items, ok := raw.([]any); ok {
		list := make([]string, 0, len(items))
		for _, item := range items {
			s, ok := scalar(item)
			if !ok {
				return nil, fmt.Errorf("%v is not a list of single values", raw)
			}
			list = append(list, s)
		}
		return list, nil
	}
	s, ok := scalar(raw)
	if !ok {
		return nil, fmt.Errorf("%v is not a list", raw)
	}
	var list []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list, nil
}

func decodeNumbers(raw any) (map[string]int, error) {
	pairs := map[string]string{}
	switch v := raw.(type) {
	case map[string]any:
		for name, item := range v {
			s, ok := scalar(item)
			if !ok {
				return nil, fmt.Errorf("%s is not a number", name)
			}
			pairs[name] = s
		}
	default:
		list, err := decodeList(raw)
		if err != nil {
			return nil, err
		}
		for _, item := range list {
			name, number, ok := strings.Cut(item, "=")
			if !ok {
				return nil, fmt.Errorf("%q has no =", item)
			}
			pairs[strings.TrimSpace(name)] = strings.TrimSpace(number)
		}
	}
	m := make(map[string]int, len(pairs))
	for name, s := range pairs {
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %q is not a whole number", name, s, s)
		}
		m[name] = n
	}
	return m, nil
}
