package fetch

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Policy says what a collection's requests may do beyond what all may. The zero
// value allows public addresses only.
type Policy struct {
	Allow []Exception

	// Timeout limits a whole GET, body included. 0 = Config.Transfer.
	Timeout time.Duration
	// MinRate is the rate in bytes per second that a body must keep over each
	// Config.RateWindow. 0 = Config.MinRate, negative = any rate.
	MinRate int64
}

// Exception opens addresses that are closed otherwise.
type Exception struct {
	Prefix netip.Prefix // every address in it; or
	Host   string       // a name, in lower case, whatever public or private address it has
	Port   uint16       // 0 = every port; a Host has always one
	Bucket string       // BUCKET/PREFIX: the objects whose key begins so
	// Directory is an absolute path: the files of this machine below it.
	Directory string
	Login     Login // whose files on a server of SFTP
}

// String returns the exception as ParseException reads it.
func (e Exception) String() string {
	switch {
	case e.Bucket != "":
		return schemeBucket + "://" + e.Bucket
	case e.Directory != "":
		return schemeFile + "://" + e.Directory + "/"
	case e.Login.Server != "":
		return e.Login.String()
	case e.Host != "":
		return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
	case e.Port == 0:
		return e.Prefix.String()
	case e.Prefix.IsSingleIP():
		return netip.AddrPortFrom(e.Prefix.Addr(), e.Port).String()
	}
	return e.Prefix.String() + ":" + strconv.Itoa(int(e.Port))
}

// ParseException parses one entry of an allow list: an IP prefix (10.1.0.0/16),
// an address with a port (127.0.0.1:8080, [::1]:8080), or a name with a port
// (files.example.org:8080), or a bucket with a prefix (s3://BUCKET/maps/, s3://BUCKET/ for all of
// it), or a directory of this machine (file:///srv/deposits/) or of a user of a server of SFTP
// (sftp://archive@files.example.org/outgoing/). What no exception can open is refused.
func ParseException(s string) (Exception, error) {
	if inBucket(s) {
		bucket, _, ok := strings.Cut(strings.TrimPrefix(s, schemeBucket+"://"), "/")
		if !ok || bucket == "" || strings.Trim(bucket, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
			return Exception{}, fmt.Errorf("%q names no bucket; write s3://BUCKET/ or s3://BUCKET/PREFIX/", s)
		}
		return Exception{Bucket: strings.TrimPrefix(s, schemeBucket+"://")}, nil
	}
	if directory, ok := strings.CutPrefix(s, schemeFile+"://"); ok {
		directory, ok = strings.CutSuffix(directory, "/")
		if !ok || !path.IsAbs(directory) || path.Clean(directory) != directory || strings.ContainsAny(directory, "%?#") {
			return Exception{}, fmt.Errorf("%q names no directory; write file:///DIRECTORY/", s)
		}
		return Exception{Directory: directory}, nil
	}
	if ofSFTP(s) {
		l, ok := parseLogin(s)
		if !ok {
			return Exception{}, fmt.Errorf("%q names no directory of a user; write %s, with HOST:PORT if it is not %s", s, loginForm, portOfSSH)
		}
		return Exception{Login: l}, nil
	}
	if p, err := netip.ParsePrefix(s); err == nil {
		if p.Addr().Is4In6() {
			return Exception{}, fmt.Errorf("%q is an IPv4 network in IPv6 form; write it in IPv4 form", s)
		}
		if p.Masked() != p {
			return Exception{}, fmt.Errorf("%q has bits outside its prefix; write %s", s, p.Masked())
		}
		return Exception{Prefix: p}, closed(s, p)
	}
	host, port, err := net.SplitHostPort(s)
	n, numErr := strconv.ParseUint(port, 10, 16)
	if err != nil || numErr != nil || n == 0 {
		return Exception{}, fmt.Errorf("%q is neither an IP prefix nor host:port nor a bucket nor a directory; write 10.1.0.0/16, 127.0.0.1/32, files.example.org:8080, s3://BUCKET/, file:///DIRECTORY/ or "+loginForm, s)
	}
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap().WithZone("")
		p := netip.PrefixFrom(a, a.BitLen())
		return Exception{Prefix: p, Port: uint16(n)}, closed(s, p)
	}
	if host == "" || strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
		return Exception{}, fmt.Errorf("%q has no host name before its port; write it in ASCII, such as files.example.org:8080", s)
	}
	return Exception{Host: strings.ToLower(strings.TrimSuffix(host, ".")), Port: uint16(n)}, nil
}

// closed returns an error for an exception that could never open anything.
func closed(s string, p netip.Prefix) error {
	for _, n := range never {
		if n.Overlaps(p) && n.Bits() <= p.Bits() {
			return fmt.Errorf("%q lies in %s, which stays closed; take it out", s, n)
		}
	}
	return nil
}

// PolicyOf returns the policy of what a profile says: a rate of 0 is any rate there.
func PolicyOf(allow []string, timeout time.Duration, minRate int64) (Policy, error) {
	p, err := ParsePolicy(allow)
	p.Timeout, p.MinRate = timeout, minRate
	if minRate == 0 {
		p.MinRate = -1
	}
	return p, err
}

// ParsePolicy parses an allow list. The error names every entry that is wrong.
func ParsePolicy(entries []string) (Policy, error) {
	var p Policy
	var faults []error
	for i, s := range entries {
		e, err := ParseException(s)
		if err != nil {
			faults = append(faults, fmt.Errorf("fetch: allow[%d]: %w", i, err))
			continue
		}
		p.Allow = append(p.Allow, e)
	}
	return p, errors.Join(faults...)
}

// key is equal for policies with the same exceptions, which may share
// connections.
func (p Policy) key() string {
	list := make([]string, len(p.Allow))
	for i, e := range p.Allow {
		list[i] = e.String()
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ")
}

// opens reports whether an exception names this address and port.
func (p Policy) opens(a netip.Addr, port uint16) bool {
	return slices.ContainsFunc(p.Allow, func(e Exception) bool {
		return e.Prefix.IsValid() && (e.Port == 0 || e.Port == port) && e.Prefix.Contains(a)
	})
}

// opensName reports whether an exception names this host and port ("name:443").
func (p Policy) opensName(hostPort string) bool {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return false
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc(p.Allow, func(e Exception) bool {
		return e.Host != "" && e.Host == host && strconv.Itoa(int(e.Port)) == port
	})
}

// opensObject reports whether an exception names this bucket and a beginning of this key.
func (p Policy) opensObject(bucket, key string) bool {
	return slices.ContainsFunc(p.Allow, func(e Exception) bool {
		return e.Bucket != "" && strings.HasPrefix(bucket+"/"+key, e.Bucket)
	})
}

// opensFile returns the directory that an exception names around a file, and the file's name in
// it; "" = none does.
func (p Policy) opensFile(name string) (directory, below string) {
	for _, e := range p.Allow {
		if rest, ok := strings.CutPrefix(name, e.Directory+"/"); ok && e.Directory != "" && rest != "" {
			return e.Directory, rest
		}
	}
	return "", ""
}
