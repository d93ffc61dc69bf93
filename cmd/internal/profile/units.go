package profile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Duration is a length of time, written with its unit: 90s, 10m, 1h30m.
type Duration time.Duration

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return errDuration
	}
	return d.UnmarshalText([]byte(n.Value))
}

var errDuration = errors.New("write a number and its unit, such as 90s, 10m or 1h30m")

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return errDuration
	}
	*d = Duration(v)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// MarshalYAML implements yaml.Marshaler.
func (d Duration) MarshalYAML() (any, error) { return time.Duration(d).String(), nil }

// String returns the form that is read.
func (d Duration) String() string { return time.Duration(d).String() }

// Bytes is a number of bytes, written as it is or with a unit: 4096, 64 MiB.
type Bytes int64

var units = []struct {
	name  string
	shift uint
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"B", 0}, {"", 0}}

// UnmarshalYAML implements yaml.Unmarshaler.
func (b *Bytes) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return errBytes
	}
	return b.UnmarshalText([]byte(n.Value))
}

var errBytes = errors.New("write a whole number of bytes, or one with a unit: B, KiB, MiB, GiB or TiB")

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bytes) UnmarshalText(text []byte) error {
	for _, u := range units {
		digits, ok := strings.CutSuffix(string(text), u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 63-int(u.shift))
		if err != nil {
			break
		}
		*b = Bytes(v << u.shift)
		return nil
	}
	return errBytes
}

// MarshalText implements encoding.TextMarshaler.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// MarshalYAML implements yaml.Marshaler.
func (b Bytes) MarshalYAML() (any, error) { return b.String(), nil }

// String returns the shortest form that is read.
func (b Bytes) String() string {
	best := fmt.Sprintf("%d B", int64(b))
	for _, u := range units[:4] {
		if b != 0 && b%(1<<u.shift) == 0 {
			best = fmt.Sprintf("%d %s", int64(b)>>u.shift, u.name)
		}
	}
	return best
}
