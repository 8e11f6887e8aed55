"""Tests of converted functions under `tf.distribute`, in processes of their own, and in `tf.data`."""
