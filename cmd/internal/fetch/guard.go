package fetch

import (
	"fmt"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// never are networks that no exception opens: they hold services that hand
// credentials of the machine to any client, or cannot be a server at all.
var never = prefixes(
	"0.0.0.0/8",          // this host
	"169.254.0.0/16",     // link-local; metadata of most clouds
	"168.63.129.16/32",   // Azure's wire server, a public address
	"100.100.100.200/32", // Alibaba's metadata
	"192.0.0.192/32",     // Oracle's metadata
	"224.0.0.0/4",        // multicast
	"255.255.255.255/32", // broadcast
	"::/128",             // this host
	"fd00:ec2::254/128",  // AWS's metadata
	"fd20:ce::254/128",   // Google's metadata
	"fe80::/10",          // link-local
	"fec0::/10",          // site-local, given up
	"ff00::/8",           // multicast
)

// carriers are networks whose addresses lead to an IPv4 address that they hold
// from byte at on.
var carriers = []struct {
	prefix   netip.Prefix
	at       int
	inverted bool
}{
	{netip.MustParsePrefix("::/96"), 12, false},           // IPv4-compatible, given up
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12, false}, // IPv4-translated
	{netip.MustParsePrefix("64:ff9b::/96"), 12, false},    // NAT64
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12, false},  // NAT64 of a site, with prefixes of 96 bits
	{netip.MustParsePrefix("2002::/16"), 2, false},        // 6to4
	{netip.MustParsePrefix("2001::/32"), 12, true},        // Teredo
}

// public refuses what IANA keeps for special purposes, in both families.
var public = ssrf.New(ssrf.WithAnyPort())

// refusal is the reason why an address may not be connected to. Its text names the
// address: for operators, not for depositors.
type refusal struct {
	to  netip.AddrPort
	why string
}

func (r *refusal) Error() string { return fmt.Sprintf("%s is refused: %s", r.to, r.why) }

// control returns the check for a dialer, after the name was resolved and before
// the first packet. named: an exception names the host.
func (p Policy) control(named bool) func(network, address string, _ syscall.RawConn) error {
	return func(network, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || network != "tcp4" && network != "tcp6" {
			return &refusal{to, "it is not an address of TCP"}
		}
		return p.judge(to, named)
	}
}

// judge returns an error unless an address may be connected to.
func (p Policy) judge(to netip.AddrPort, named bool) error {
	// A prefix contains neither mapped addresses nor addresses with a zone.
	addr := to.Addr().Unmap().WithZone("")
	if n, ok := inNever(addr); ok {
		return &refusal{to, n.String() + " stays closed"}
	}
	if inner, ok := carried(addr); ok {
		if n, ok := inNever(inner); ok {
			return &refusal{to, "it leads to " + inner.String() + ", and " + n.String() + " stays closed"}
		}
		if !named && public.SafeAddr(inner) != nil && !p.opens(inner, to.Port()) {
			return &refusal{to, "it leads to " + inner.String() + ", which is not public"}
		}
	}
	if named || p.opens(addr, to.Port()) {
		return nil
	}
	if err := public.SafeAddr(addr); err != nil {
		return &refusal{to, err.Error()}
	}
	if port := to.Port(); port != 80 && port != 443 && port < 1024 {
		return &refusal{to, "the port belongs to another protocol"}
	}
	return nil
}

func inNever(a netip.Addr) (netip.Prefix, bool) {
	for _, n := range never {
		if n.Contains(a) {
			return n, true
		}
	}
	return netip.Prefix{}, false
}

// carried returns the IPv4 address inside an IPv6 address.
func carried(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() || a == netip.IPv6Loopback() {
		return netip.Addr{}, false
	}
	for _, c := range carriers {
		if c.prefix.Contains(a) {
			b := a.As16()
			v4 := [4]byte(b[c.at:])
			for i := range v4 {
				if c.inverted {
					v4[i] = ^v4[i]
				}
			}
			return netip.AddrFrom4(v4), true
		}
	}
	return netip.Addr{}, false
}

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}
