package sandbox

import (
	"cmp"
	"math"

	"github.com/omoi-dev/omoi/internal/task"
)

// Units of limits.
const (
	MiB = int64(1) << 20
	GiB = int64(1) << 30
	GB  = int64(1_000_000_000)
)

// MaxDisk is the maximum size of a sandbox's disk in bytes.
const MaxDisk = 10 * GB

// DefaultLimits returns the limits of a sandbox without settings. The default for processes is the provider's.
func DefaultLimits() Limits { return Limits{MemoryBytes: 4 * GiB, CPUs: 2, DiskBytes: 8 * GB} }

// Or returns l with its zero fields taken from rest.
func (l Limits) Or(rest Limits) Limits {
	return Limits{
		MemoryBytes: cmp.Or(l.MemoryBytes, rest.MemoryBytes), CPUs: cmp.Or(l.CPUs, rest.CPUs),
		DiskBytes: cmp.Or(l.DiskBytes, rest.DiskBytes), Processes: cmp.Or(l.Processes, rest.Processes),
	}
}

// MaxMemory is the maximum memory of a sandbox in bytes.
const MaxMemory = 8 * GiB

// Grown returns the limits so many sizes up. Each size doubles memory and disk, up to the maximum.
func (l Limits) Grown(times int) Limits {
	l = l.Or(DefaultLimits())
	for range times {
		l.MemoryBytes, l.DiskBytes = min(2*l.MemoryBytes, MaxMemory), min(2*l.DiskBytes, MaxDisk)
	}
	return l
}

// Check returns an error for a limit out of range; limits are never reduced silently. maxProcesses is the provider's
// maximum; 0 means that it does not limit processes.
func (l Limits) Check(maxProcesses int) error {
	const minMemory, minCPUs, maxCPUs, minProcesses = 16 * MiB, 0.1, 4.0, 8
	switch {
	case l.MemoryBytes < minMemory || l.MemoryBytes > MaxMemory:
		return task.Invalid("memory_bytes", "memory is between 16 MiB and 8 GiB, not %d bytes", l.MemoryBytes)
	case math.IsNaN(l.CPUs) || l.CPUs < minCPUs || l.CPUs > maxCPUs:
		return task.Invalid("cpus", "CPUs are between 0.1 and 4, not %g", l.CPUs)
	case l.DiskBytes < 0 || l.DiskBytes > MaxDisk:
		return task.Invalid("disk_bytes", "disk is at most 10 GB, not %d bytes", l.DiskBytes)
	case l.Processes < 0 || maxProcesses > 0 && (l.Processes < minProcesses || l.Processes > maxProcesses):
		return task.Invalid("processes", "processes are between %d and %d, not %d", minProcesses, maxProcesses, l.Processes)
	}
	return nil
}
