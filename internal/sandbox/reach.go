package sandbox

import (
	"net"
	"net/url"
)

// Loopback reports whether only the machine that it names reaches an address.
func Loopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
}
