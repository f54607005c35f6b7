package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
)

// OwnLoopback is a loopback address for one listener, with port 0. It is drawn from 127.1.0.0 to
// 127.254.255.254, so that listeners hardly ever share one: the kernel then finds a free port at once,
// where on a shared address it passes over every port that a closed connection keeps for a minute. After
// some thousand trials that search is the dearest part of a trial. Two that do share one are no error.
func OwnLoopback() string {
	n := rand.Uint32()
	return fmt.Sprintf("127.%d.%d.%d:0", 1+n>>16%254, n>>8&255, 1+n%254)
}

// Listen opens a listener on a loopback address, port 0 being any free one. It speaks plain TCP only:
// Go's listeners ask for Multipath TCP, which has nothing to offer on loopback.
func Listen(address string) (net.Listener, error) {
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	return config.Listen(context.Background(), "tcp4", address)
}
