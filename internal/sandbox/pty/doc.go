// Package pty makes pseudo-terminals: what is written to one end is typed at the other.
package pty
