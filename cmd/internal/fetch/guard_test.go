package fetch

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

// hostile are addresses that no request may reach without an exception. shut
// marks those that no exception opens.
var hostile = []struct {
	addr string
	shut bool
	what string
}{
	{"0.0.0.0", true, "this host"},
	{"0.1.2.3", true, "this network"},
	{"10.0.0.1", false, "private"},
	{"10.255.255.255", false, "private"},
	{"100.64.0.1", false, "carrier-grade NAT"},
	{"100.127.255.254", false, "carrier-grade NAT"},
	{"100.100.100.200", true, "metadata"},
	{"127.0.0.1", false, "loopback"},
	{"127.1.2.3", false, "loopback"},
	{"127.255.255.255", false, "loopback"},
	{"169.254.0.1", true, "link-local"},
	{"169.254.169.254", true, "metadata"},
	{"169.254.170.2", true, "metadata of containers"},
	{"168.63.129.16", true, "metadata on a public address"},
	{"172.16.0.1", false, "private"},
	{"172.31.255.255", false, "private"},
	{"192.0.0.1", false, "protocol assignments"},
	{"192.0.0.192", true, "metadata"},
	{"192.0.2.1", false, "documentation"},
	{"192.31.196.1", false, "AS112"},
	{"192.52.193.1", false, "AMT"},
	{"192.88.99.1", false, "6to4 relay"},
	{"192.168.0.1", false, "private"},
	{"192.168.255.255", false, "private"},
	{"192.175.48.1", false, "AS112"},
	{"198.18.0.1", false, "benchmarks"},
	{"198.19.255.255", false, "benchmarks"},
	{"198.51.100.7", false, "documentation"},
	{"203.0.113.9", false, "documentation"},
	{"224.0.0.1", true, "multicast"},
	{"239.255.255.250", true, "multicast"},
	{"240.0.0.1", false, "reserved"},
	{"255.255.255.255", true, "broadcast"},

	{"::", true, "unspecified"},
	{"::1", false, "loopback"},
	{"::ffff:127.0.0.1", false, "mapped loopback"},
	{"::ffff:10.0.0.1", false, "mapped private"},
	{"::ffff:169.254.169.254", true, "mapped metadata"},
	{"::ffff:0.0.0.0", true, "mapped this host"},
	{"::ffff:168.63.129.16", true, "mapped metadata"},
	{"::127.0.0.1", false, "compatible loopback"},
	{"::169.254.169.254", true, "compatible metadata"},
	{"::8.8.8.8", false, "compatible public"},
	{"::ffff:0:127.0.0.1", false, "translated loopback"},
	{"::ffff:0:169.254.169.254", true, "translated metadata"},
	{"64:ff9b::127.0.0.1", false, "NAT64 of loopback"},
	{"64:ff9b::10.1.2.3", false, "NAT64 of private"},
	{"64:ff9b::169.254.169.254", true, "NAT64 of metadata"},
	{"64:ff9b::168.63.129.16", true, "NAT64 of metadata"},
	{"64:ff9b::8.8.8.8", false, "NAT64 of a public address"},
	{"64:ff9b:1::10.1.2.3", false, "NAT64 of a site"},
	{"64:ff9b:1::169.254.169.254", true, "NAT64 of a site, metadata"},
	{"100::1", false, "discard only"},
	{"2001::1", false, "Teredo"},
	{"2001:0:4136:e378:8000:63bf:5601:5601", true, "Teredo of metadata"},
	{"2001:2::1", false, "benchmarks"},
	{"2001:10::1", false, "ORCHID"},
	{"2001:20::1", false, "ORCHIDv2"},
	{"2001:db8::1", false, "documentation"},
	{"2002:7f00:1::1", false, "6to4 of loopback"},
	{"2002:a00:1::1", false, "6to4 of private"},
	{"2002:a9fe:a9fe::1", true, "6to4 of metadata"},
	{"2620:4f:8000::1", false, "AS112"},
	{"3fff::1", false, "documentation"},
	{"5f00::1", false, "segment routing"},
	{"fc00::1", false, "unique local"},
	{"fd12:3456:789a::1", false, "unique local"},
	{"fd00:ec2::254", true, "metadata"},
	{"fd20:ce::254", true, "metadata"},
	{"fe80::1", true, "link-local"},
	{"fe80::1%eth0", true, "link-local with a zone"},
	{"::1%lo", false, "loopback with a zone"},
	{"febf::1", true, "link-local"},
	{"fec0::1", true, "site-local"},
	{"ff02::1", true, "multicast"},
	{"ff0e::1", true, "multicast"},
	{"4000::1", false, "not assigned"},
	{"e000::1", false, "not assigned"},
}

// Shows: P9
func TestHostileAddresses(t *testing.T) {
	t.Parallel()
	open, err := ParsePolicy([]string{"0.0.0.0/0", "::/0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hostile {
		a := netip.MustParseAddr(h.addr)
		for _, port := range []uint16{80, 443, 8080} {
			to := netip.AddrPortFrom(a, port)
			var refused *refusal
			if err := (Policy{}).judge(to, false); !errors.As(err, &refused) {
				t.Errorf("%s (%s) is let through", to, h.what)
			}
			if err := open.judge(to, false); (err != nil) != h.shut {
				t.Errorf("%s (%s) with everything opened: %v", to, h.what, err)
			}
			if err := (Policy{}).judge(to, true); (err != nil) != h.shut {
				t.Errorf("%s (%s) of a named host: %v", to, h.what, err)
			}
		}
	}
}

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"8.8.8.8:80", "1.1.1.1:443", "168.63.129.17:8080", "193.0.6.139:65535", "100.128.0.1:80", "172.32.0.1:1024",
		"[2606:4700::1111]:443", "[2a00:1450:4001:80b::200e]:80", "[::ffff:8.8.8.8]:80",
	} {
		if err := (Policy{}).judge(netip.MustParseAddrPort(s), false); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []string{"8.8.8.8:25", "8.8.8.8:22", "8.8.8.8:0", "8.8.8.8:1023", "[2606:4700::1111]:53"} {
		if (Policy{}).judge(netip.MustParseAddrPort(s), false) == nil {
			t.Errorf("%s is let through", s)
		}
	}
}

// Shows: P9
func TestExceptions(t *testing.T) {
	t.Parallel()
	p, err := ParsePolicy([]string{"127.0.0.1/32", "10.1.0.0/16", "192.168.1.5:8080", "[fd12::5]:443", "Files.Test:8443", "64:ff9b::/96"})
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]bool{
		"127.0.0.1:22": true, "127.0.0.2:80": false, "[::ffff:127.0.0.1]:80": true, "[::1]:80": false,
		"10.1.255.1:9": true, "10.2.0.1:80": false,
		"192.168.1.5:8080": true, "192.168.1.5:80": false,
		"[fd12::5]:443": true, "[fd12::5]:80": false, "[fd12::6]:443": false,
		"[64:ff9b::808:808]:443": true, "[64:ff9b::a01:1]:443": true, "[64:ff9b::a02:1]:443": false, "[64:ff9b::a9fe:a9fe]:443": false,
	} {
		if err := p.judge(netip.MustParseAddrPort(to), false); (err == nil) != want {
			t.Errorf("%s: %v, want open = %v", to, err, want)
		}
	}
	for hostPort, want := range map[string]bool{
		"files.test:8443": true, "FILES.test.:8443": true, "files.test:443": false, "xfiles.test:8443": false, "files.test": false, ":8443": false,
	} {
		if p.opensName(hostPort) != want {
			t.Errorf("opensName(%q) = %v", hostPort, !want)
		}
	}
	for _, network := range []string{"udp4", "unix", "tcp"} {
		if p.control(false)(network, "8.8.8.8:80", nil) == nil {
			t.Errorf("the network %s is let through", network)
		}
	}
	if p.control(true)("tcp4", "no address", nil) == nil {
		t.Error("what is no address is let through")
	}
}

func TestParsePolicyNamesEveryFault(t *testing.T) {
	t.Parallel()
	bad := []string{
		"", "10.0.0.1", "10.1.2.3/8", "10.0.0.0/33", "files.test", "files.test:0", "files.test:70000", ":80", "a b:80", "u@h:80", "h/p:80",
		"füür.test:80", "::ffff:10.0.0.0/104", "169.254.169.254/32", "169.254.169.254:80", "224.0.0.0/8", "[fe80::1]:80", "fd00:ec2::254/128",
	}
	p, err := ParsePolicy(append(bad, "10.0.0.0/8", "127.0.0.1:1"))
	if err == nil || len(p.Allow) != 2 {
		t.Fatalf("%v, %v", p, err)
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != len(bad) {
		t.Errorf("%d faults for %d bad entries:\n%v", n, len(bad), err)
	}
}

func TestPolicyKey(t *testing.T) {
	t.Parallel()
	key := func(entries ...string) string {
		p, err := ParsePolicy(entries)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range p.Allow {
			if again, err := ParseException(e.String()); err != nil || again != e {
				t.Errorf("%q is written %q, which reads as %+v, %v", entries[i], e, again, err)
			}
		}
		return p.key()
	}
	if key("10.0.0.0/8", "127.0.0.1:80", "::1/128") != key("::1/128", "127.0.0.1:80", "10.0.0.0/8", "127.0.0.1:80") {
		t.Error("the order of exceptions counts")
	}
	different := []string{key(), key("127.0.0.1/32"), key("127.0.0.1:80"), key("127.0.0.1:81"), key("localhost:80"), key("[::1]:80"), key("127.0.0.1:80", "127.0.0.1:81")}
	for i, a := range different {
		for _, b := range different[:i] {
			if a == b {
				t.Errorf("two policies share the key %q", a)
			}
		}
	}
}
