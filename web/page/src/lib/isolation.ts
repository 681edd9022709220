/** Isolation features of sandboxes in words; docs/SECURITY.md explains them. A feature that the page does not know stays as it is. */
const words: Record<string, string> = {
  none: "no isolation", bubblewrap: "its own file system", docker: "a container", userns: "own users", pidns: "own processes", netns: "an own network namespace",
  uid: "a user ID of its own", "no-nested-userns": "no nested user namespaces", seccomp: "a system call filter", "no-capabilities": "no capabilities",
  "no-new-privileges": "no new privileges", "read-only-root": "a read-only system", "cgroup-memory": "a memory limit", "cgroup-cpu": "a CPU limit",
  "cgroup-pids": "a process limit", "rlimit-processes": "a process limit", "disk-watch": "a disk limit", "disk-quota": "a disk quota", "network-none": "no network",
};

export const inWords = (features: readonly string[]): string => features.map((f) => words[f] ?? f).join(", ");
