package systems

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// This file runs the front of a system in a container of its image. The container shares the network of the
// host, since the harness's links are on loopback, and sees the trial's state folder at its own path. It is
// another process's child: a kill goes by the engine, and is over when the engine knows nothing of it any more.

// containerLabel marks our containers; their names begin with it and go on with the harness's process.
const containerLabel = "sixthcopy"

// engines run containers, by the same words.
var engines = []string{"docker", "podman"}

// engineNeed is what a machine without an engine lacks.
var engineNeed = Need{Program: "a container engine (docker whose daemon answers, or podman)", Install: "apt-get install -y podman"}

// engine is the first engine that can be used; "": there is none. Docker's program is no engine without its
// daemon.
var engine = sync.OnceValue(func() string {
	for _, name := range engines {
		if exec.Command(name, "info").Run() == nil {
			return name
		}
	}
	return ""
})

// container is one container, and the engine that runs it.
type container struct{ engine, name string }

// swept removes, once, the containers that dead harnesses left behind.
var swept = sync.OnceValue(sweepContainers)

func sweepContainers() error {
	names, err := exec.Command(engine(), "ps", "-a", "--filter", "label="+containerLabel, "--format", "{{.Names}}").Output()
	if err != nil {
		return fmt.Errorf("list of containers: %w", explained(err))
	}
	for name := range strings.FieldsSeq(string(names)) {
		parts := strings.Split(name, "-")
		if pid, err := strconv.Atoi(parts[min(1, len(parts)-1)]); err != nil || unix.Kill(pid, 0) != syscall.ESRCH {
			continue
		}
		if err := (container{engine(), name}).gone(dieWithin); err != nil {
			return err
		}
	}
	return nil
}

// contain returns the command that runs argv in a container of image. dir is the state folder of its trial.
func contain(image string, argv []string, name, dir string) (*container, []string, error) {
	if engine() == "" {
		return nil, nil, fmt.Errorf("image %s: there is no %s; %s", image, engineNeed.Program, engineNeed.Install)
	}
	if err := swept(); err != nil {
		return nil, nil, err
	}
	box := &container{engine(), fmt.Sprintf("%s-%d-%s", containerLabel, os.Getpid(), strings.ToLower(name))}
	run := []string{box.engine, "run", "--rm", "-i", "--network", "host", "--name", box.name, "--label", containerLabel + "=" + strconv.Itoa(os.Getpid()),
		"--volume", dir + ":" + dir}
	if uid := os.Getuid(); uid != 0 { // what it writes there is ours to remove
		if box.engine == "docker" {
			run = append(run, "--user", fmt.Sprintf("%d:%d", uid, os.Getgid()))
		} else {
			run = append(run, "--userns", "keep-id")
		}
	}
	return box, append(append(run, image), argv...), nil
}

// kill sends SIGKILL to all that is in the container. One that is not there yet, or not any more, is no error.
func (c container) kill() { _ = exec.Command(c.engine, "kill", "--signal", "KILL", c.name).Run() }

// gone removes the container and returns when the engine knows nothing of it.
func (c container) gone(limit time.Duration) error {
	for deadline := time.Now().Add(limit); ; {
		_ = exec.Command(c.engine, "rm", "--force", c.name).Run() // --rm may have been faster
		left, err := exec.Command(c.engine, "ps", "-aq", "--filter", "name=^"+c.name+"$").Output()
		switch {
		case err == nil && len(strings.TrimSpace(string(left))) == 0:
			return nil
		case time.Now().After(deadline) && err != nil:
			return fmt.Errorf("end of container %s: %w", c.name, explained(err))
		case time.Now().After(deadline):
			return fmt.Errorf("end of container %s: %s still lists it", c.name, c.engine)
		}
	}
}

// explained adds what a command said on stderr.
func explained(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %.200s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}
