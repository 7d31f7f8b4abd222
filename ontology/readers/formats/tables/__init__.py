"""Read edge lists, and what every table needs: the words of its header, and the choice of one relation."""
